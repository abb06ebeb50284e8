import type { Clock } from '../../shared/clock.ts';
import type { Pod } from '../../kube/types.ts';
import type { PodCache } from '../pod-workers/pod-syncer.ts';
import { toAPIPod } from '../pod-workers/pod-update.ts';
import type { CallOptions, ContainerRuntime, RuntimePod } from '../runtime/container-runtime.ts';
import { podStatusFromRuntime } from '../runtime/pod-status-from-runtime.ts';
import type { RuntimePodStatus } from '../runtime/runtime-pod-status.ts';

/** Options of `RuntimePodCache`. */
export interface RuntimePodCacheOptions {
  /** The runtime of the pods; statuses differ if it has no sandboxes. */
  readonly runtime: Pick<ContainerRuntime, 'runPodSandbox'>;
  readonly clock: Pick<Clock, 'now' | 'monotonicMs'>;
}

/** When the runtime was queried. */
export interface Observation {
  /** Greater than that of every earlier observation. */
  readonly sequence: number;
  readonly wallMs: number;
  readonly monotonicMs: number;
}

interface Entry {
  readonly runtimePod: RuntimePod;
  readonly ips: readonly string[];
  readonly observation: Observation;
}

interface Waiter {
  readonly minTimeMs: number;
  /** The last observation that had begun when the wait started. */
  readonly sequence: number;
  readonly wake: () => void;
}

/**
 * The last known runtime status of each pod, and when it was observed. The PLEG writes it, the pod
 * workers read it. A status never counts as newer than it is, even if the wall clock jumps.
 * Source: kubelet `kubecontainer.Cache`.
 */
export class RuntimePodCache implements PodCache {
  readonly #options: RuntimePodCacheOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #waiters = new Map<string, Set<Waiter>>();
  /** The last observation of all pods. */
  #observation: Observation | undefined;
  /** Later observations of single pods that found no change or no pod. */
  readonly #podObservations = new Map<string, Observation>();
  #lastSequence = 0;

  constructor(options: RuntimePodCacheOptions) {
    this.#options = options;
  }

  /** Call it right before the runtime is queried. */
  beginObservation(): Observation {
    const { clock } = this.#options;
    return { sequence: ++this.#lastSequence, wallMs: clock.now(), monotonicMs: clock.monotonicMs() };
  }

  /** Stores the runtime status of a pod. A pod that has ended keeps its IP addresses. */
  set(runtimePod: RuntimePod, observation: Observation): void {
    const { uid, sandboxes = [] } = runtimePod;
    const { ips = [] } = podStatusFromRuntime(toAPIPod(runtimePod), runtimePod, this.#options.runtime);
    const keepsIPs = ips.length === 0 && !sandboxes.some(({ ready }) => ready);
    this.#entries.set(uid, {
      runtimePod,
      ips: keepsIPs ? (this.#entries.get(uid)?.ips ?? []) : ips,
      observation,
    });
    this.#notify(uid);
  }

  /** Removes a pod that the runtime no longer knows. */
  delete(podUID: string): void {
    this.#entries.delete(podUID);
  }

  /** Records that all entries were up to date at `observation`. Source: kubelet `UpdateTime`. */
  updateTime(observation: Observation): void {
    this.#observation = observation;
    this.#podObservations.clear();
    for (const podUID of [...this.#waiters.keys()]) this.#notify(podUID);
  }

  /** Like `updateTime`, for one pod. Source: kubelet `SetObservedTime`. */
  setObservedTime(podUID: string, observation: Observation): void {
    this.#podObservations.set(podUID, observation);
    this.#notify(podUID);
  }

  /** Undefined before the runtime was queried for the first time. */
  get(podUID: string): RuntimePodStatus | undefined {
    const entry = this.#entries.get(podUID);
    if (entry !== undefined) return this.#statusOf(toAPIPod(entry.runtimePod), entry);
    return this.#latest(podUID) && this.#statusOf({ metadata: { uid: podUID } }, undefined);
  }

  /** Resolves with a status that was observed after `minTimeMs`; rejects only when `signal` is aborted. */
  async getNewerThan(pod: Pod, minTimeMs: number, { signal }: CallOptions = {}): Promise<RuntimePodStatus> {
    signal?.throwIfAborted();
    const podUID = pod.metadata?.uid ?? '';
    if (!this.#isNewerThan(podUID, minTimeMs)) await this.#waitFor(podUID, minTimeMs, signal);
    return this.#statusOf(pod, this.#entries.get(podUID));
  }

  #waitFor(podUID: string, minTimeMs: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiters = this.#waiters.get(podUID) ?? new Set<Waiter>();
      const leave = (): void => {
        signal?.removeEventListener('abort', abort);
        waiters.delete(waiter);
        if (waiters.size === 0) this.#waiters.delete(podUID);
      };
      const waiter: Waiter = {
        minTimeMs,
        sequence: this.#lastSequence,
        wake: () => {
          leave();
          resolve();
        },
      };
      const abort = (): void => {
        leave();
        reject(signal?.reason as Error);
      };
      waiters.add(waiter);
      this.#waiters.set(podUID, waiters);
      signal?.addEventListener('abort', abort);
    });
  }

  #notify(podUID: string): void {
    for (const waiter of [...(this.#waiters.get(podUID) ?? [])]) {
      const { sequence = 0 } = this.#latest(podUID) ?? {};
      // An observation that began after the wait is newer than any `minTimeMs` of the waiter.
      if (sequence > waiter.sequence || this.#isNewerThan(podUID, waiter.minTimeMs)) waiter.wake();
    }
  }

  #isNewerThan(podUID: string, minTimeMs: number): boolean {
    const latest = this.#latest(podUID);
    if (latest === undefined) return false;
    const { clock } = this.#options;
    const nowMs = clock.now();
    const ageMs = clock.monotonicMs() - latest.monotonicMs;
    // The wall clock may have jumped since, so the earlier of both readings is used.
    return Math.min(latest.wallMs, nowMs - ageMs) > Math.min(minTimeMs, nowMs);
  }

  #latest(podUID: string): Observation | undefined {
    return [this.#observation, this.#podObservations.get(podUID), this.#entries.get(podUID)?.observation].reduce(
      (latest, candidate) => ((candidate?.sequence ?? 0) > (latest?.sequence ?? 0) ? candidate : latest),
      undefined,
    );
  }

  #statusOf(pod: Pod, entry: Entry | undefined): RuntimePodStatus {
    const status = podStatusFromRuntime(pod, entry?.runtimePod, this.#options.runtime);
    return entry === undefined ? status : { ...status, ips: entry.ips };
  }
}
