import type { Clock, Pod } from '../../index.ts';
import type { PodCache } from '../pod-workers/pod-syncer.ts';
import { toAPIPod } from '../pod-workers/pod-update.ts';
import type { CallOptions, ContainerRuntime, RuntimePod } from '../runtime/container-runtime.ts';
import { podStatusFromRuntime } from '../runtime/pod-status-from-runtime.ts';
import type { RuntimePodStatus } from '../runtime/runtime-pod-status.ts';

/** Options of `RuntimePodCache`. */
export interface RuntimePodCacheOptions {
  /** Whose pods they are: a runtime without sandboxes has other statuses. */
  readonly runtime: Pick<ContainerRuntime, 'runPodSandbox'>;
  readonly clock: Pick<Clock, 'now' | 'monotonicMs'>;
}

/** When the runtime was asked. */
export interface Observation {
  /** Greater than that of every earlier one. */
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
  /** Of the last observation that had begun when the waiter came. */
  readonly sequence: number;
  readonly wake: () => void;
}

/**
 * What the runtime was last seen to have of each pod, and when it was asked. The PLEG fills it, the
 * pod workers read it. A status is never passed off as newer than it is, not even when the wall clock
 * jumps. Source: kubelet `kubecontainer.Cache`.
 */
export class RuntimePodCache implements PodCache {
  readonly #options: RuntimePodCacheOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #waiters = new Map<string, Set<Waiter>>();
  /** Of all pods. */
  #observation: Observation | undefined;
  /** Of single pods, since then, of which nothing changed or nothing is there. */
  readonly #podObservations = new Map<string, Observation>();
  #lastSequence = 0;

  constructor(options: RuntimePodCacheOptions) {
    this.#options = options;
  }

  /** To be called right before the runtime is asked. */
  beginObservation(): Observation {
    const { clock } = this.#options;
    return { sequence: ++this.#lastSequence, wallMs: clock.now(), monotonicMs: clock.monotonicMs() };
  }

  /** Stores what the runtime has of a pod. A pod that has ended keeps its addresses. */
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

  /** Forgets a pod of which the runtime has nothing any more. */
  delete(podUID: string): void {
    this.#entries.delete(podUID);
  }

  /** Says that all that is stored was true at `observation`. Source: kubelet `UpdateTime`. */
  updateTime(observation: Observation): void {
    this.#observation = observation;
    this.#podObservations.clear();
    for (const podUID of [...this.#waiters.keys()]) this.#notify(podUID);
  }

  /** As `updateTime`, for one pod. Source: kubelet `SetObservedTime`. */
  setObservedTime(podUID: string, observation: Observation): void {
    this.#podObservations.set(podUID, observation);
    this.#notify(podUID);
  }

  /** Undefined before the runtime was asked the first time. */
  get(podUID: string): RuntimePodStatus | undefined {
    const entry = this.#entries.get(podUID);
    if (entry !== undefined) return this.#statusOf(toAPIPod(entry.runtimePod), entry);
    return this.#latest(podUID) && this.#statusOf({ metadata: { uid: podUID } }, undefined);
  }

  /** Resolves when the runtime was asked after `minTimeMs`; rejects only when `signal` is aborted. */
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
      // What was asked after the waiter came is newer than any time that it can mean.
      if (sequence > waiter.sequence || this.#isNewerThan(podUID, waiter.minTimeMs)) waiter.wake();
    }
  }

  #isNewerThan(podUID: string, minTimeMs: number): boolean {
    const latest = this.#latest(podUID);
    if (latest === undefined) return false;
    const { clock } = this.#options;
    const nowMs = clock.now();
    const ageMs = clock.monotonicMs() - latest.monotonicMs;
    // The wall clock may have jumped since: the earlier of both readings is certain.
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
