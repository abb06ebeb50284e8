import { join } from 'node:path';
import type { Clock } from '../../shared/clock.ts';
import type { Disk } from '../../shared/disk.ts';
import { type Logger, reasonOf } from '../../shared/logger.ts';
import { ReadCache } from '../../shared/read-cache.ts';
import type { BoundedRuntime, ImagePullSecret } from '../../node/index.ts';
import {
  type ImagePullCredentials,
  type ImagePulledRecord,
  imagePullCredentials,
  isSameSecret,
  mergeImagePullCredentials,
  trimImageTagDigest,
} from './pulled-record.ts';
import { RecordFiles } from './record-files.ts';
import {
  decodeImagePulledRecord,
  decodeImagePullIntent,
  encodeImagePulledRecord,
  encodeImagePullIntent,
} from './record-format.ts';
import type { RequireCredentialVerification } from './verification-policy.ts';

/**
 * When a record has this many Secrets, a Secret that merely matches is not added. Source: kubelet
 * `writeRecordWhileMatchingLimit`.
 */
const maxMatchedSecrets = 100;

export interface ImagePullManagerOptions {
  readonly runtime: Pick<BoundedRuntime, 'listImages'>;
  readonly disk: Disk;
  /** The records are in its folder `image_manager`, where a kubelet has them. Undefined: in memory only. */
  readonly rootDirectory: string | undefined;
  readonly requireCredentialVerification: RequireCredentialVerification;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
}

interface PullsInProgress {
  count: number;
  /** True if an earlier pull with an unknown result may have pulled the image. Only a recorded pull ends the doubt. */
  isDoubtful: boolean;
}

/**
 * Records which images the agent has pulled, and with which Secrets, to decide whether a pod may use an image that is present.
 * Each call of `recordPullIntent` is followed by one of `recordImagePulled`, `recordImagePullFailed` or `recordImagePullAborted`.
 *
 * Changes of the records are synchronous code, without `await`; the files are written in the same order. Source: kubelet
 * `pullmanager.PullManager`.
 */
export class ImagePullManager {
  readonly #options: ImagePullManagerOptions;
  /** By image reference. */
  readonly #pulled: RecordFiles<ImagePulledRecord>;
  /** By image. An intent that is left by another agent says that the image may have been pulled. */
  readonly #intents: RecordFiles<string>;
  /** Image → its pulls in progress. */
  readonly #pulls = new Map<string, PullsInProgress>();
  /** Image reference → when its record was last used or written. */
  readonly #uses = new ReadCache<true>();
  #initialized: Promise<void> | undefined;

  constructor(options: ImagePullManagerOptions) {
    this.#options = options;
    const { disk, rootDirectory } = options;
    const directory = (name: string): string | undefined => rootDirectory && join(rootDirectory, 'image_manager', name);
    this.#pulled = new RecordFiles({
      disk,
      directory: directory('pulled'),
      keyOf: ({ imageRef }) => imageRef,
      encode: encodeImagePulledRecord,
      decode: decodeImagePulledRecord,
    });
    this.#intents = new RecordFiles({
      disk,
      directory: directory('pulling'),
      keyOf: (image) => image,
      encode: encodeImagePullIntent,
      decode: decodeImagePullIntent,
    });
  }

  /** Call before a pull. Rejects if that cannot be recorded: then the image must not be pulled. */
  async recordPullIntent(image: string): Promise<void> {
    await this.#initialize();
    // An intent without a pull was left by an aborted pull, or by an earlier agent.
    const pulls = this.#pulls.get(image) ?? { count: 0, isDoubtful: this.#intents.has(image) };
    pulls.count++;
    this.#pulls.set(image, pulls);
    try {
      await this.#intents.write(image);
    } catch (error) {
      await this.#endPull(image);
      throw error;
    }
  }

  /** Call after a pull with the credentials of this Secret; undefined: without, or with those of the node. */
  async recordImagePulled(image: string, imageRef: string, secret: ImagePullSecret | undefined): Promise<void> {
    const isRecorded = await this.#record(image, imageRef, imagePullCredentials(secret));
    // Otherwise the intent stays, so that the next agent knows that the image may have been pulled.
    await this.#endPull(image, isRecorded ? 'recorded' : 'unknown');
  }

  /** Call after a pull that has failed. */
  async recordImagePullFailed(image: string): Promise<void> {
    await this.#endPull(image);
  }

  /**
   * Call after a pull that was aborted, or whose answer was lost. The runtime may have finished it nevertheless, so the intent
   * stays until a pull of the image is recorded.
   *
   * Divergence: the kubelet removes the intent when the answer is lost, and when a pull of another pod fails: every pod may
   * then use the image.
   */
  async recordImagePullAborted(image: string): Promise<void> {
    await this.#endPull(image, 'unknown');
  }

  /**
   * Whether a pod must pull an image that is present, so that the registry verifies its credentials. `getPullSecrets` is only
   * called if the decision depends on it. If something cannot be read, the pod must.
   */
  async mustAttemptImagePull(
    image: string,
    imageRef: string,
    getPullSecrets: () => Promise<readonly ImagePullSecret[]>,
  ): Promise<boolean> {
    try {
      await this.#initialize();
      if (this.#pulled.has(imageRef)) this.#uses.set(imageRef, true);
      const isPulledByAgent = this.#pulled.has(imageRef) || this.#intents.has(image);
      if (!this.#options.requireCredentialVerification(image, isPulledByAgent)) return false;
      const credentials = this.#credentialsOf(image, imageRef);
      if (credentials?.nodePodsAccessible) return false;
      if (!credentials?.kubernetesSecrets?.length) return true;
      return !(await this.#hasPulled(image, imageRef, await getPullSecrets()));
    } catch (error) {
      this.#options.logger.error({ image, reason: reasonOf(error) }, 'Failed to read the records of pulled images');
      return true;
    }
  }

  /**
   * Call before the images are listed. Removes the records of images that are not in the list, unless they have been used
   * since.
   *
   * Divergence: the kubelet compares wall-clock times, and only those of changes: it removes the record of a private image
   * that was pulled again in the meantime with the same Secret, and then every pod may use the image.
   */
  beginPrune(): (imageRefs: ReadonlySet<string>) => Promise<void> {
    const since = this.#uses.begin();
    return async (imageRefs) => {
      try {
        await this.#initialize();
        const removed = this.#pulled
          .list()
          .filter(({ imageRef }) => !imageRefs.has(imageRef) && this.#uses.revisionOf(imageRef) <= since);
        this.#uses.prune(() => false, since);
        await Promise.all(removed.map(({ imageRef }) => this.#pulled.delete(imageRef)));
      } catch (error) {
        this.#options.logger.error({ reason: reasonOf(error) }, 'Failed to remove records of pulled images');
      }
    };
  }

  /** Source: kubelet `decrementImagePullIntent`. */
  async #endPull(image: string, end?: 'recorded' | 'unknown'): Promise<void> {
    const pulls = this.#pulls.get(image);
    if (pulls === undefined) return;
    if (end !== undefined) pulls.isDoubtful = end === 'unknown';
    pulls.count--;
    if (pulls.count > 0) return;
    this.#pulls.delete(image);
    if (!pulls.isDoubtful) await this.#deleteIntent(image);
  }

  async #deleteIntent(image: string): Promise<void> {
    await this.#intents.delete(image).catch((error: unknown) => {
      this.#options.logger.error({ image, reason: reasonOf(error) }, 'Failed to remove the record of a pull');
    });
  }

  #credentialsOf(image: string, imageRef: string): ImagePullCredentials | undefined {
    return this.#pulled.get(imageRef)?.credentialMapping.get(trimImageTagDigest(image));
  }

  /**
   * Whether one of the Secrets has pulled the image. A Secret whose credentials have changed since then, or a copy, is
   * recorded.
   */
  async #hasPulled(image: string, imageRef: string, secrets: readonly ImagePullSecret[]): Promise<boolean> {
    const known = this.#credentialsOf(image, imageRef)?.kubernetesSecrets ?? [];
    for (const secret of secrets) {
      for (const each of known) {
        const hasSameHash = each.credentialHash !== '' && each.credentialHash === secret.credentialHash;
        const isSame = isSameSecret(each, secret);
        if (hasSameHash && isSame) return true;
        if (!hasSameHash && !isSame) continue;
        const hasRoom = known.length < maxMatchedSecrets;
        if (hasRoom) await this.#record(image, imageRef, imagePullCredentials(secret));
        if (hasSameHash || hasRoom) return true;
      }
    }
    return false;
  }

  /**
   * Resolves with whether the pull is recorded. `credentials` is undefined if those of the pull are unknown.
   * Source: kubelet `writePulledRecordIfChanged`.
   */
  async #record(image: string, imageRef: string, credentials: ImagePullCredentials | undefined): Promise<boolean> {
    this.#uses.set(imageRef, true);
    const record = this.#pulled.get(imageRef);
    const name = trimImageTagDigest(image);
    const known = record?.credentialMapping.get(name);
    const merged = credentials ? mergeImagePullCredentials(known, credentials) : known;
    if (record !== undefined && merged === known && this.#pulled.isWritten(imageRef)) return true;
    const credentialMapping = new Map(record?.credentialMapping);
    if (merged !== undefined) credentialMapping.set(name, merged);
    try {
      await this.#pulled.write({ lastUpdatedMs: this.#options.clock.now(), imageRef, credentialMapping });
      return true;
    } catch (error) {
      this.#options.logger.error({ image, reason: reasonOf(error) }, 'Failed to record a pulled image');
      return false;
    }
  }

  /** Tries again after a failure. */
  async #initialize(): Promise<void> {
    this.#initialized ??= this.#load();
    try {
      await this.#initialized;
    } catch (error) {
      this.#initialized = undefined;
      throw error;
    }
  }

  async #load(): Promise<void> {
    await this.#pulled.load();
    await this.#intents.load();
    if (this.#intents.list().length === 0) return;
    await this.#recordInterruptedPulls().catch((error: unknown) => {
      // The intents stay.
      this.#options.logger.error({ reason: reasonOf(error) }, 'Failed to list images');
    });
  }

  /** An image that is present, and whose pull had not ended when the last agent did, was pulled with unknown credentials. */
  async #recordInterruptedPulls(): Promise<void> {
    const intents = new Set(this.#intents.list());
    for (const { id, names = [] } of (await this.#options.runtime.listImages?.()) ?? []) {
      for (const image of names.filter((name) => intents.has(name)))
        if (await this.#record(image, id, undefined)) await this.#deleteIntent(image);
    }
  }
}
