import { join } from 'node:path';
import type { Clock } from '../../shared/clock.ts';
import { type Logger, reasonOf } from '../../shared/logger.ts';
import type { BoundedRuntime } from '../runtime/bounded-runtime.ts';
import type { ImagePullSecret } from '../runtime/container-runtime.ts';
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

/** Secrets of a record, above which a Secret that is only compared is not added. Source: kubelet `writeRecordWhileMatchingLimit`. */
const maxMatchedSecrets = 100;

export interface ImagePullManagerOptions {
  readonly runtime: Pick<BoundedRuntime, 'listImages'>;
  /** The records are in its folder `image_manager`, where a kubelet has them. Undefined: in memory only. */
  readonly rootDirectory: string | undefined;
  readonly requireCredentialVerification: RequireCredentialVerification;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
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
  /** Image → pulls in progress. */
  readonly #pulls = new Map<string, number>();
  #initialized: Promise<void> | undefined;

  constructor(options: ImagePullManagerOptions) {
    this.#options = options;
    const { rootDirectory } = options;
    const directory = (name: string): string | undefined => rootDirectory && join(rootDirectory, 'image_manager', name);
    this.#pulled = new RecordFiles({
      directory: directory('pulled'),
      keyOf: ({ imageRef }) => imageRef,
      encode: encodeImagePulledRecord,
      decode: decodeImagePulledRecord,
    });
    this.#intents = new RecordFiles({
      directory: directory('pulling'),
      keyOf: (image) => image,
      encode: encodeImagePullIntent,
      decode: decodeImagePullIntent,
    });
  }

  /** Call before a pull. Rejects if that cannot be recorded: then the image must not be pulled. */
  async recordPullIntent(image: string): Promise<void> {
    await this.#initialize();
    this.#pulls.set(image, (this.#pulls.get(image) ?? 0) + 1);
    try {
      await this.#intents.write(image);
    } catch (error) {
      await this.#decrementPullIntent(image);
      throw error;
    }
  }

  /** Call after a pull with the credentials of this Secret; undefined: without, or with those of the node. */
  async recordImagePulled(image: string, imageRef: string, secret: ImagePullSecret | undefined): Promise<void> {
    const isRecorded = await this.#record(image, imageRef, imagePullCredentials(secret));
    // Otherwise the intent stays, so that the next agent knows that the image may have been pulled.
    if (isRecorded) await this.#decrementPullIntent(image);
  }

  /** Call after a pull that has failed. */
  async recordImagePullFailed(image: string): Promise<void> {
    await this.#decrementPullIntent(image);
  }

  /** Call after a pull that was aborted. The runtime may have finished it nevertheless, so the intent stays until the next pull. */
  recordImagePullAborted(image: string): void {
    this.#endPull(image);
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

  /** Removes the records of images that are not in the list, unless they have changed since `listedAtMs`. */
  async pruneUnknownRecords(imageRefs: ReadonlySet<string>, listedAtMs: number): Promise<void> {
    try {
      await this.#initialize();
      const unknown = this.#pulled.list().filter((record) => !imageRefs.has(record.imageRef));
      const removed = unknown.filter(({ lastUpdatedMs }) => lastUpdatedMs < listedAtMs);
      await Promise.all(removed.map(({ imageRef }) => this.#pulled.delete(imageRef)));
    } catch (error) {
      this.#options.logger.error({ reason: reasonOf(error) }, 'Failed to remove records of pulled images');
    }
  }

  /** Source: kubelet `decrementImagePullIntent`. */
  async #decrementPullIntent(image: string): Promise<void> {
    if (this.#endPull(image) > 0) return;
    await this.#intents.delete(image).catch((error: unknown) => {
      this.#options.logger.error({ image, reason: reasonOf(error) }, 'Failed to remove the record of a pull');
    });
  }

  /** Returns how many pulls of the image are still in progress. */
  #endPull(image: string): number {
    const pulls = Math.max((this.#pulls.get(image) ?? 0) - 1, 0);
    if (pulls > 0) this.#pulls.set(image, pulls);
    else this.#pulls.delete(image);
    return pulls;
  }

  #credentialsOf(image: string, imageRef: string): ImagePullCredentials | undefined {
    return this.#pulled.get(imageRef)?.credentialMapping.get(trimImageTagDigest(image));
  }

  /** Whether one of the Secrets has pulled the image; a Secret with other credentials than then, or a copy, is recorded. */
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
   * Resolves with whether it is recorded. `credentials` are undefined if it is unknown with which ones the image was pulled.
   * Source: kubelet `writePulledRecordIfChanged`.
   */
  async #record(image: string, imageRef: string, credentials: ImagePullCredentials | undefined): Promise<boolean> {
    const record = this.#pulled.get(imageRef);
    const name = trimImageTagDigest(image);
    const known = record?.credentialMapping.get(name);
    const merged = credentials ? mergeImagePullCredentials(known, credentials) : known;
    if (record !== undefined && merged === known) return true;
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
        if (await this.#record(image, id, undefined)) await this.#decrementPullIntent(image);
    }
  }
}
