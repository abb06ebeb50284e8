import type { Clock } from '../../shared/clock.ts';
import type { Container, Pod } from '../../kube/types.ts';
import { createImagePullBackOff } from '../back-off/crash-loop-back-off.ts';
import type { BackOff } from '../back-off/flowcontrol-back-off.ts';
import type { ContainerRuntime } from '../runtime/container-runtime.ts';
import type { PodEvent, PodEventRecorder } from '../events/event-recorder.ts';
import { messageOf, SyncActionError } from './sync-result.ts';

export interface ImageManagerOptions {
  readonly runtime: Pick<ContainerRuntime, 'pullImage' | 'imageRef'>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly eventRecorder: PodEventRecorder;
}

/**
 * Pulls images according to their pull policies, and delays failed pulls. Source: kubelet `imageManager`.
 *
 * Divergence: the runtime decides which image names are valid, and pulls with its own credentials.
 */
export class ImageManager {
  readonly #options: ImageManagerOptions;
  readonly #backoff: BackOff;
  /** Why the last pull failed, by back-off key. */
  readonly #failures = new Map<string, string>();

  constructor(options: ImageManagerOptions) {
    this.#options = options;
    // Monotonic like Go's times: a step of the wall clock does not prolong a back-off.
    this.#backoff = createImagePullBackOff({ now: () => options.clock.monotonicMs() });
  }

  /**
   * Resolves with a reference to the image, or with undefined in a runtime without images.
   * Rejects with a `SyncFailure`: `ErrImagePull`, `ImagePullBackOff`, `ErrImageNeverPull` or `ImageInspectError`.
   */
  async ensureImageExists(pod: Pod, container: Container, signal: AbortSignal): Promise<string | undefined> {
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

  async #inspect(pod: Pod, container: Container, image: string, signal: AbortSignal): Promise<string | undefined> {
    try {
      return await this.#options.runtime.imageRef!(image, { signal });
    } catch (thrown) {
      signal.throwIfAborted();
      const message = `Failed to inspect image "${image}": ${messageOf(thrown)}`;
      this.#event(pod, container, 'Warning', 'InspectFailed', message);
      throw new SyncActionError('ImageInspectError', message, { cause: thrown });
    }
  }

  async #pull(pod: Pod, container: Container, image: string, signal: AbortSignal): Promise<string> {
    const { runtime, clock } = this.#options;
    const key = `${pod.metadata?.uid ?? ''}_${image}`;
    if (this.#backoff.isInBackOffSinceUpdate(key, clock.monotonicMs())) {
      const message = `Back-off pulling image "${image}"`;
      this.#event(pod, container, 'Normal', 'BackOff', message);
      const failure = this.#failures.get(key);
      throw new SyncActionError('ImagePullBackOff', failure === undefined ? message : `${message}: ${failure}`);
    }
    this.#failures.delete(key);
    this.#event(pod, container, 'Normal', 'Pulling', `Pulling image "${image}"`);
    const startedMs = clock.monotonicMs();
    try {
      const imageRef = await runtime.pullImage!(image, pod, { signal });
      const ms = clock.monotonicMs() - startedMs;
      const duration = goDuration(ms);
      const pulled = `Successfully pulled image "${image}" in ${duration} (${duration} including waiting).`;
      this.#event(pod, container, 'Normal', 'Pulled', pulled);
      this.#forgetExpired();
      return imageRef;
    } catch (thrown) {
      // A pull that was aborted has not failed.
      signal.throwIfAborted();
      const message = messageOf(thrown);
      this.#event(pod, container, 'Warning', 'Failed', `Failed to pull image "${image}": ${message}`);
      this.#backoff.next(key, clock.monotonicMs());
      this.#failures.set(key, `ErrImagePull: ${message}`);
      throw new SyncActionError('ErrImagePull', message, { cause: thrown });
    }
  }

  #forgetExpired(): void {
    this.#backoff.gc();
    for (const key of this.#failures.keys()) if (this.#backoff.get(key) === 0) this.#failures.delete(key);
  }

  #event(pod: Pod, container: Container, type: PodEvent['type'], reason: string, message: string): void {
    this.#options.eventRecorder.event({ pod, container: container.name, type, reason, message });
  }
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
