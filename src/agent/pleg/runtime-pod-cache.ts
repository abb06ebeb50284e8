import countBy from 'lodash/countBy.js';
import type { Pod, ValidPod } from '../../kube/objects/types.ts';
import {
  type PodCache,
  type PodCacheOptions,
  type RuntimePod,
  type RuntimePodStatus,
  toAPIPod,
} from '../../node/index.ts';
import { ReadCache, Revisions } from '../../shared/read-cache.ts';
import { podStatusFromRuntime } from './pod-status-from-runtime.ts';

interface Entry {
  readonly runtimePod: RuntimePod;
  readonly ips: readonly string[];
}

interface Waiter {
  readonly observation: number;
  readonly wake: () => void;
}

/**
 * The last known runtime status of each pod, and the number of its observation: observations are numbered in the order in
 * which they begin. The PLEG writes it, the pod workers read it. Source: kubelet `kubecontainer.Cache`.
 *
 * Divergence: the kubelet compares wall-clock times, so a clock jump can make an old status count as new, or block a worker.
 */
export class RuntimePodCache implements PodCache {
  readonly #runtime: { readonly runPodSandbox?: unknown };
  /** All pods in the runtime, with or without a worker. */
  readonly #entries: ReadCache<Entry>;
  readonly #observations = new Revisions();
  readonly #waiters = new Map<string, Set<Waiter>>();
  #onWait: (podUID: string, options: PodCacheOptions) => void = () => {};

  /** @param runtime of the pods; decides whether statuses have sandboxes */
  constructor(runtime: { readonly runPodSandbox?: unknown }) {
    this.#runtime = runtime;
    this.#entries = new ReadCache(this.#observations);
  }

  /** The number of a new observation: call it right before the runtime is queried. */
  beginObservation(): number {
    return this.#entries.begin();
  }

  lastObservation(): number {
    return this.#observations.last;
  }

  /** True while `getNewerThan` waits for an observation. */
  get isAwaited(): boolean {
    return this.#waiters.size > 0;
  }

  /** Sets the function that is called when `getNewerThan` begins to wait. */
  onWait(listener: (podUID: string, options: PodCacheOptions) => void): void {
    this.#onWait = listener;
  }

  /** Stores the runtime status of a pod, and returns true, unless it knows a newer one. A pod that has ended keeps its IP addresses. */
  set(runtimePod: RuntimePod, observation: number): boolean {
    const { uid, sandboxes = [] } = runtimePod;
    const { ips = [] } = podStatusFromRuntime(toAPIPod(runtimePod), runtimePod, this.#runtime);
    const keepsIPs = ips.length === 0 && !sandboxes.some(({ ready }) => ready);
    const entry = { runtimePod, ips: keepsIPs ? (this.#entries.get(uid)?.ips ?? []) : ips };
    const isNewest = this.#entries.store(uid, entry, observation);
    this.#notify(uid);
    return isNewest;
  }

  /** Removes a pod that the runtime no longer knows; returns as `set` does. */
  delete(podUID: string, observation: number): boolean {
    return this.#entries.store(podUID, undefined, observation);
  }

  /** Records that all entries were up to date at `observation`. Source: kubelet `UpdateTime`. */
  updateTime(observation: number): void {
    this.#entries.prune((podUID) => this.#entries.get(podUID) !== undefined, observation);
    for (const podUID of [...this.#waiters.keys()]) this.#notify(podUID);
  }

  /** Like `updateTime`, for one pod. Source: kubelet `SetObservedTime`. */
  setObservedTime(podUID: string, observation: number): void {
    this.#entries.store(podUID, this.#entries.get(podUID), observation);
    this.#notify(podUID);
  }

  /** How many pods run, and how many containers are in each state. Source: kubelet `updateRunningPodAndContainerMetrics`. */
  counts(): { readonly runningPods: number; readonly containers: Readonly<Record<string, number>> } {
    const pods = this.#entries.values().map(({ runtimePod }) => runtimePod);
    const isRunning = ({ sandboxes, containers }: RuntimePod): boolean =>
      sandboxes?.some(({ ready }) => ready) ?? containers.some(({ state }) => state === 'running');
    return {
      runningPods: pods.filter(isRunning).length,
      containers: countBy(
        pods.flatMap(({ containers }) => containers),
        'state',
      ),
    };
  }

  /** Undefined before the runtime was queried for the first time. */
  get(podUID: string): RuntimePodStatus | undefined {
    const entry = this.#entries.get(podUID);
    if (entry !== undefined) return this.#statusOf(toAPIPod(entry.runtimePod), entry);
    return this.#latest(podUID) > 0 ? this.#statusOf({ metadata: { uid: podUID } }, undefined) : undefined;
  }

  /** Rejects only when `signal` is aborted. */
  async getNewerThan(pod: ValidPod, observation: number, options: PodCacheOptions = {}): Promise<RuntimePodStatus> {
    options.signal?.throwIfAborted();
    const podUID = pod.metadata.uid;
    if (this.#latest(podUID) <= observation) await this.#waitFor(podUID, observation, options);
    return this.#statusOf(pod, this.#entries.get(podUID));
  }

  #waitFor(podUID: string, observation: number, options: PodCacheOptions): Promise<void> {
    const { signal } = options;
    return new Promise((resolve, reject) => {
      const waiters = this.#waiters.get(podUID) ?? new Set<Waiter>();
      const leave = (): void => {
        signal?.removeEventListener('abort', abort);
        waiters.delete(waiter);
        if (waiters.size === 0) this.#waiters.delete(podUID);
      };
      const waiter: Waiter = {
        observation,
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
      this.#onWait(podUID, options);
    });
  }

  #notify(podUID: string): void {
    const latest = this.#latest(podUID);
    for (const waiter of [...(this.#waiters.get(podUID) ?? [])]) if (latest > waiter.observation) waiter.wake();
  }

  #latest(podUID: string): number {
    return this.#entries.revisionOf(podUID);
  }

  #statusOf(pod: Pod, entry: Entry | undefined): RuntimePodStatus {
    const status = podStatusFromRuntime(pod, entry?.runtimePod, this.#runtime);
    return entry === undefined ? status : { ...status, ips: entry.ips };
  }
}
