import { reasonOf } from '../../shared/logger.ts';
import type { Clock } from '../../shared/clock.ts';
import type { Container, Pod, ValidPod } from '../../kube/types.ts';
import { createImagePullBackOff } from '../back-off/crash-loop-back-off.ts';
import type { BackOff } from '../back-off/flowcontrol-back-off.ts';
import { type ContainerRuntime, ImageError } from '../runtime/container-runtime.ts';
import type { PodEvent, PodEventRecorder } from '../events/event-recorder.ts';
import { SyncActionError } from './sync-result.ts';

export interface ImageManagerOptions {
  readonly runtime: Pick<ContainerRuntime, 'pullImage' | 'imageRef'>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly eventRecorder: PodEventRecorder;
}

/**
 * Pulls images according to their pull policies, and delays failed pulls. Source: kubelet `imageManager`.
 *
 * Divergence: the runtime decides which image names are valid, and pulls with its own credentials. An image that is present
 * is used without verifying the pod's credentials. Pulls run concurrently.
 */
export class ImageManager {
  readonly #options: ImageManagerOptions;
  /** Outlives the workers: a static pod that comes back with its UID is still backed off. */
  readonly #backoff: BackOff;

  constructor(options: ImageManagerOptions) {
    this.#options = options;
    // Monotonic like Go's times: a step of the wall clock does not prolong a back-off.
    this.#backoff = createImagePullBackOff({ now: () => options.clock.monotonicMs() });
  }

  /**
   * Resolves with a reference to the image, or with undefined in a runtime without images.
   * Rejects with a `SyncActionError`: `ErrImagePull`, `ImagePullBackOff`, `ErrImageNeverPull`, `ImageInspectError`, or the
   * reason of an `ImageError`.
   */
  async ensureImageExists(pod: ValidPod, container: Container, signal: AbortSignal): Promise<string | undefined> {
    const { runtime } = this.#options;
    const { image = '' } = container;
    if (runtime.pullImage === undefined || image === '') return undefined;

    const policy = container.imagePullPolicy ?? defaultPullPolicy(image);
    if (policy !== 'Always' && runtime.imageRef !== undefined) {
      const imageRef = await this.#inspect(pod, container, image, signal);
      if (imageRef) {
        const message = `Container image "${image}" already present on machine and can be accessed by the pod`;
        this.#event(pod, container, 'Normal', 'Pulled', message);
        return imageRef;
      }
    }
    if (policy === 'Never') {
      const message = `Container image "${image}" is not present with pull policy of Never`;
      this.#event(pod, container, 'Warning', 'ErrImageNeverPull', message);
      throw new SyncActionError('ErrImageNeverPull', message);
    }
    return this.#pull(pod, container, image, signal);
  }

  async #inspect(pod: ValidPod, container: Container, image: string, signal: AbortSignal): Promise<string | undefined> {
    try {
      return await this.#options.runtime.imageRef!(image, { signal, pod });
    } catch (thrown) {
      signal.throwIfAborted();
      if (isInvalidName(thrown)) throw this.#invalidName(pod, container, image, thrown);
      const message = `Failed to inspect image "${image}": ${reasonOf(thrown)}`;
      this.#event(pod, container, 'Warning', 'InspectFailed', message);
      throw new SyncActionError('ImageInspectError', message, { cause: thrown });
    }
  }

  async #pull(pod: ValidPod, container: Container, image: string, signal: AbortSignal): Promise<string> {
    const { runtime, clock } = this.#options;
    const key = `${pod.metadata.uid}_${image}`;
    if (this.#backoff.isInBackOffSinceUpdate(key, clock.monotonicMs())) {
      const message = `Back-off pulling image "${image}"`;
      this.#event(pod, container, 'Normal', 'BackOff', message);
      const failure = this.#backoff.reasonOf(key);
      throw new SyncActionError('ImagePullBackOff', failure === undefined ? message : `${message}: ${failure}`);
    }
    this.#event(pod, container, 'Normal', 'Pulling', `Pulling image "${image}"`);
    const startedMs = clock.monotonicMs();
    try {
      const result = await runtime.pullImage!(image, pod, { signal });
      const { imageRef, sizeBytes } = typeof result === 'string' ? { imageRef: result } : result;
      const ms = clock.monotonicMs() - startedMs;
      const duration = goDuration(ms);
      const size = sizeBytes === undefined ? '' : ` Image size: ${sizeBytes} bytes.`;
      const pulled = `Successfully pulled image "${image}" in ${duration} (${duration} including waiting).${size}`;
      this.#event(pod, container, 'Normal', 'Pulled', pulled);
      this.#backoff.gc();
      return imageRef;
    } catch (thrown) {
      // A pull that was aborted has not failed.
      signal.throwIfAborted();
      if (isInvalidName(thrown)) throw this.#invalidName(pod, container, image, thrown);
      const { reason, message, error } = pullFailure(image, thrown);
      this.#event(pod, container, 'Warning', 'Failed', `Failed to pull image "${image}": ${error}`);
      this.#backoff.next(key, clock.monotonicMs(), `${reason}: ${message}`);
      throw new SyncActionError(reason, message, { cause: thrown });
    }
  }

  #invalidName(pod: Pod, container: Container, image: string, cause: ImageError): SyncActionError {
    const message = `Failed to apply default image tag "${image}": ${cause.message}`;
    this.#event(pod, container, 'Warning', 'InspectFailed', message);
    return new SyncActionError('InvalidImageName', message, { cause });
  }

  #event(pod: Pod, container: Container, type: PodEvent['type'], reason: string, message: string): void {
    this.#options.eventRecorder.event({ pod, container: container.name, type, reason, message });
  }
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

/** Formats a duration like Go, truncated to milliseconds: `350ms`, `1.5s`, `2m0.5s`. */
function goDuration(ms: number): string {
  const total = Math.trunc(ms);
  if (total < 1000) return total === 0 ? '0s' : `${total}ms`;
  const hours = Math.trunc(total / 3_600_000);
  const minutes = Math.trunc(total / 60_000) % 60;
  const seconds = `${(total % 60_000) / 1000}s`;
  if (hours > 0) return `${hours}h${minutes}m${seconds}`;
  return minutes > 0 ? `${minutes}m${seconds}` : seconds;
}

/** The API server's default, which a static pod may lack: the tag `latest` is always pulled. */
function defaultPullPolicy(image: string): string {
  const lastPart = image.slice(image.lastIndexOf('/') + 1);
  if (lastPart.includes('@')) return 'IfNotPresent';
  const tag = lastPart.split(':')[1] ?? 'latest';
  return tag === 'latest' ? 'Always' : 'IfNotPresent';
}
