import { formatGoDuration } from '../../shared/go-duration.ts';
import { imageSizeBucket, type RecordKubeletMetric } from '../../observe/kubelet-metrics.ts';
import { reasonOf } from '../../shared/logger.ts';
import type { Clock } from '../../shared/clock.ts';
import { InvalidResultError } from '../../shared/bounded-port.ts';
import { Semaphore } from '../../shared/semaphore.ts';
import type { Container, Pod, ValidPod } from '../../kube/objects/types.ts';
import { createImagePullBackOff } from '../back-off/crash-loop-back-off.ts';
import type { BackOff } from '../back-off/flowcontrol-back-off.ts';
import type { ImagePullManager } from '../image-pulls/image-pull-manager.ts';
import {
  type BoundedRuntime,
  ImageError,
  type PodCallOptions,
  type PodEvent,
  type PodEventRecorder,
  type PulledImage,
  SyncActionError,
} from '../../node/index.ts';

export interface ImageManagerOptions {
  readonly runtime: Pick<BoundedRuntime, 'pullImage' | 'imageRef' | 'imagePullSecrets'>;
  readonly pullManager: ImagePullManager;
  /** How many images are pulled at a time. */
  readonly parallelImagePulls: number;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly eventRecorder: PodEventRecorder;
  /** Default: nothing is measured. */
  readonly recordMetric?: RecordKubeletMetric | undefined;
}

/**
 * Pulls images according to their pull policies, and delays failed pulls. Source: kubelet `imageManager`.
 *
 * Divergence: the runtime decides which image names are valid, and which credentials are tried.
 */
export class ImageManager {
  readonly #options: ImageManagerOptions;
  /** Outlives the workers: a static pod that comes back with its UID is still backed off. */
  readonly #backoff: BackOff;
  readonly #turns: Semaphore;

  constructor(options: ImageManagerOptions) {
    this.#options = options;
    const { clock, parallelImagePulls: size } = options;
    this.#backoff = createImagePullBackOff(clock);
    this.#turns = new Semaphore({ size, clock });
  }

  /**
   * Resolves with a reference to the image, or with undefined in a runtime without images.
   * Rejects with a `SyncActionError`: `ErrImagePull`, `ImagePullBackOff`, `ErrImageNeverPull`, `ImageInspectError`, or the
   * reason of an `ImageError`.
   */
  async ensureImageExists(pod: ValidPod, container: Container, options: PodCallOptions): Promise<string | undefined> {
    const { runtime } = this.#options;
    const { image = '' } = container;
    if (runtime.pullImage === undefined || image === '') return undefined;

    const policy = container.imagePullPolicy ?? defaultPullPolicy(image);
    if (policy !== 'Always' && runtime.imageRef !== undefined) {
      const imageRef = await this.#inspect(pod, container, image, options);
      if (imageRef && !(await this.#mustPull(pod, image, imageRef, options))) {
        const message = `Container image "${image}" already present on machine and can be accessed by the pod`;
        this.#event(pod, container, 'Normal', 'Pulled', message);
        return imageRef;
      }
    }
    if (policy === 'Never') {
      // The same error if the image is present but the pod may not use it: a pod cannot find out which images are present.
      const message = `Container image "${image}" is not present with pull policy of Never`;
      this.#event(pod, container, 'Warning', 'ErrImageNeverPull', message);
      throw new SyncActionError('ErrImageNeverPull', message);
    }
    this.#checkBackOff(pod, container, image);
    return this.#recordedPull(pod, container, image, options);
  }

  async #mustPull(pod: ValidPod, image: string, imageRef: string, options: PodCallOptions): Promise<boolean> {
    const { runtime, pullManager } = this.#options;
    const getPullSecrets = async () => (await runtime.imagePullSecrets?.(image, pod, options)) ?? [];
    const mustPull = await pullManager.mustAttemptImagePull(image, imageRef, getPullSecrets);
    options.signal.throwIfAborted();
    return mustPull;
  }

  #checkBackOff(pod: ValidPod, container: Container, image: string): void {
    const key = backOffKey(pod, image);
    if (!this.#backoff.isInBackOffSinceUpdate(key, this.#options.clock.monotonicMs())) return;
    const message = `Back-off pulling image "${image}"`;
    this.#event(pod, container, 'Normal', 'BackOff', message);
    const failure = this.#backoff.reasonOf(key);
    throw new SyncActionError('ImagePullBackOff', failure === undefined ? message : `${message}: ${failure}`);
  }

  async #recordedPull(pod: ValidPod, container: Container, image: string, options: PodCallOptions): Promise<string> {
    const { pullManager } = this.#options;
    try {
      await pullManager.recordPullIntent(image);
    } catch (cause) {
      const message = `Failed to record image pull intent for container image "${image}": ${reasonOf(cause)}`;
      throw new SyncActionError('ErrImagePull', message, { cause });
    }
    const pulling = this.#pull(pod, container, image, options).catch(async (thrown: unknown) => {
      if (options.signal.aborted || mayHavePulled(thrown)) await pullManager.recordImagePullAborted(image);
      else await pullManager.recordImagePullFailed(image);
      throw thrown;
    });
    const { imageRef, pullSecret } = await pulling;
    await pullManager.recordImagePulled(image, imageRef, pullSecret);
    return imageRef;
  }

  async #inspect(
    pod: ValidPod,
    container: Container,
    image: string,
    options: PodCallOptions,
  ): Promise<string | undefined> {
    try {
      return await this.#options.runtime.imageRef!(image, { ...options, pod });
    } catch (thrown) {
      options.signal.throwIfAborted();
      if (isInvalidName(thrown)) throw this.#invalidName(pod, container, image, thrown);
      const message = `Failed to inspect image "${image}": ${reasonOf(thrown)}`;
      this.#event(pod, container, 'Warning', 'InspectFailed', message);
      throw new SyncActionError('ImageInspectError', message, { cause: thrown });
    }
  }

  async #pull(pod: ValidPod, container: Container, image: string, options: PodCallOptions): Promise<PulledImage> {
    const { clock, recordMetric } = this.#options;
    this.#event(pod, container, 'Normal', 'Pulling', `Pulling image "${image}"`);
    const startedMs = clock.monotonicMs();
    try {
      const { pulled, pullMs } = await this.#pullInTurn(pod, image, options);
      const duration = formatGoDuration(pullMs);
      const totalMs = Math.trunc(clock.monotonicMs() - startedMs);
      const total = formatGoDuration(totalMs);
      const size = pulled.sizeBytes === undefined ? '' : ` Image size: ${pulled.sizeBytes} bytes.`;
      const message = `Successfully pulled image "${image}" in ${duration} (${total} including waiting).${size}`;
      this.#event(pod, container, 'Normal', 'Pulled', message);
      recordMetric?.('image_pull_duration_seconds', totalMs / 1000, imageSizeBucket(pulled.sizeBytes));
      this.#backoff.gc();
      return pulled;
    } catch (thrown) {
      // A pull that was aborted has not failed.
      options.signal.throwIfAborted();
      if (isInvalidName(thrown)) throw this.#invalidName(pod, container, image, thrown);
      const { reason, message, error } = pullFailure(image, thrown);
      this.#event(pod, container, 'Warning', 'Failed', `Failed to pull image "${image}": ${error}`);
      this.#backoff.next(backOffKey(pod, image), clock.monotonicMs(), `${reason}: ${message}`);
      throw new SyncActionError(reason, message, { cause: thrown });
    }
  }

  /** In the order of the requests. Source: kubelet `serialImagePuller`, `parallelImagePuller`. */
  async #pullInTurn(
    pod: ValidPod,
    image: string,
    options: PodCallOptions,
  ): Promise<{ readonly pulled: PulledImage; readonly pullMs: number }> {
    const { runtime, clock } = this.#options;
    await this.#turns.acquire(options.signal);
    try {
      const startedMs = clock.monotonicMs();
      const result = await runtime.pullImage!(image, pod, options);
      const pulled = typeof result === 'string' ? { imageRef: result } : result;
      return { pulled, pullMs: clock.monotonicMs() - startedMs };
    } finally {
      this.#turns.release();
    }
  }

  #invalidName(pod: Pod, container: Container, image: string, cause: ImageError): SyncActionError {
    const message = `Failed to apply default image tag "${image}": ${cause.message}`;
    this.#event(pod, container, 'Warning', 'InspectFailed', message);
    return new SyncActionError('InvalidImageName', message, { cause });
  }

  #event(pod: Pod, container: Container, type: PodEvent['type'], reason: string, message: string): void {
    // An image volume belongs to no container.
    this.#options.eventRecorder.event({ pod, container: container.name || undefined, type, reason, message });
  }
}

function backOffKey({ metadata }: ValidPod, image: string): string {
  return `${metadata.uid}_${image}`;
}

function isInvalidName(thrown: unknown): thrown is ImageError {
  return thrown instanceof ImageError && thrown.reason === 'InvalidImageName';
}

/** Reason and message of the waiting container, and the error as the event shows it. Source: kubelet `evalCRIPullErr`. */
function pullFailure(
  image: string,
  thrown: unknown,
): { readonly reason: string; readonly message: string; readonly error: string } {
  const message = reasonOf(thrown);
  if (!(thrown instanceof ImageError)) return { reason: 'ErrImagePull', message, error: message };
  const { reason } = thrown;
  const details = message === '' ? '' : `: ${message}`;
  const why = reason === 'RegistryUnavailable' ? 'the registry is unavailable' : 'the signature validation failed';
  return { reason, message: `image pull failed for ${image} because ${why}${details}`, error: `${reason}${details}` };
}

/** The API server's default, which a static pod may lack: the tag `latest` is always pulled. */
function defaultPullPolicy(image: string): string {
  const lastPart = image.slice(image.lastIndexOf('/') + 1);
  if (lastPart.includes('@')) return 'IfNotPresent';
  const tag = lastPart.split(':')[1] ?? 'latest';
  return tag === 'latest' ? 'Always' : 'IfNotPresent';
}

/** A runtime sets the field on an error of `pullImage` if the response was lost. */
function mayHavePulled(thrown: unknown): boolean {
  const { cause = thrown } = thrown as Error;
  return cause instanceof InvalidResultError || (cause as { readonly mayHavePulled?: boolean }).mayHavePulled === true;
}
