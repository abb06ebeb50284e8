import type { ValidPod } from 'kubelet-status-manager';
import type {
  PodProvider,
  ProviderPodReference,
  ProviderContainer,
  ProviderPod,
  ProviderPodOptions,
} from 'kubelet-status-manager/virtual-nodes';
import type { Clock } from 'kubelet-status-manager';

/** A call of the provider, for example `createPod web`. */
type Call = 'createPod' | 'deletePod' | 'getPod' | 'listPods' | 'updatePod';

export interface FakeCloudOptions {
  readonly clock: Clock;
  /** From `createPod` until the pod runs. Default: 1,000. */
  readonly startMs?: number | undefined;
  /** From `deletePod` until the pod is gone. Default: 1,000. */
  readonly stopMs?: number | undefined;
  /** From the beginning of a call to its effect. Default: 0. */
  readonly latencyMs?: number | undefined;
}

/** What a call throws, or undefined to let it pass. */
type Reaction = (pod: ProviderPodReference | undefined) => Error | undefined;

interface CloudPod {
  readonly pod: ValidPod;
  reported: ProviderPod;
}

/**
 * A cloud in memory that runs pods by its own clock. Tests script what it does, and read what it was asked:
 * `cloud.calls` has each call in order, for example `createPod web`.
 */
export class FakeCloud implements PodProvider {
  /** Set before the nodes are created. */
  capabilities: NonNullable<PodProvider['capabilities']> = {
    initContainers: true,
    sidecars: true,
    probes: 'provider',
    volumes: [],
  };
  readonly calls: string[] = [];
  readonly deletions: { readonly name: string; readonly gracePeriodSeconds: number }[] = [];
  readonly updates: { readonly pod: ValidPod; readonly previous: ValidPod | undefined }[] = [];
  /** The runs of pods. */
  readonly starts: { readonly name: string; readonly restartCount: number; readonly atMs: number }[] = [];
  /** The largest number of calls for one pod at the same time. */
  maxCallsOfOnePod = 0;
  latencyMs: number;
  startMs: number;
  stopMs: number;
  /** Pods that `listPods` leaves out. */
  readonly hidden = new Set<string>();
  /** True if `deletePod` has no effect. */
  forgetsDeletions = false;
  /** True if it reports what it was last told of a pod. */
  reportsPodHash = true;
  /** True if calls do not react to their signal. */
  ignoresSignals = false;
  readonly #clock: Clock;
  readonly #pods = new Map<string, CloudPod>();
  /** The number of addresses that pods have had. */
  #addresses = 0;
  readonly #reactions = new Map<Call, Reaction>();
  readonly #inProgress = new Map<string, number>();
  #listener: ((pod: ProviderPod) => void) | undefined;
  #onGap: (() => void) | undefined;

  constructor({ clock, startMs = 1000, stopMs = 1000, latencyMs = 0 }: FakeCloudOptions) {
    this.#clock = clock;
    this.startMs = startMs;
    this.stopMs = stopMs;
    this.latencyMs = latencyMs;
  }

  /** Until it is called again, the call is given to `reaction` first. */
  react(call: Call, reaction: Reaction = () => undefined): void {
    this.#reactions.set(call, reaction);
  }

  /** The names of the pods that exist. */
  get names(): string[] {
    return [...this.#pods.values()].map(({ pod }) => pod.metadata.name).toSorted();
  }

  callsOf(call: Call): string[] {
    return this.calls.filter((each) => each.split(' ')[0] === call);
  }

  pod(name: string): ProviderPod | undefined {
    return this.#find(name)?.reported;
  }

  /** Changes what the cloud reports of a pod. */
  report(name: string, change: Partial<ProviderPod>): void {
    const found = this.#find(name);
    if (found === undefined) throw new Error(`There is no pod ${name} in the cloud`);
    found.reported = { ...found.reported, ...change };
    this.#listener?.(found.reported);
  }

  /** All containers end, and none is restarted. */
  stop(name: string, exitCode = 0): void {
    const containers = this.#find(name)?.pod.spec?.containers ?? [];
    const finishedAt = new Date(this.#clock.now());
    this.report(name, {
      state: 'stopped',
      containers: containers.map((container): ProviderContainer => ({
        name: container.name,
        exit: { exitCode, finishedAt },
      })),
    });
  }

  /** The pod is gone without a trace. */
  lose(name: string): void {
    const found = this.#find(name);
    if (found !== undefined) this.#pods.delete(found.pod.metadata.uid);
  }

  /** Adds a pod that nobody has created here. */
  add(pod: ProviderPod): void {
    const { uid, name, namespace } = pod;
    this.#pods.set(uid, { pod: { metadata: { uid, name, namespace } }, reported: pod });
  }

  /** A provider that has no other methods than it must have, and these. */
  asProvider(more: Partial<PodProvider> = {}): PodProvider {
    return {
      capabilities: this.capabilities,
      createPod: (pod, options) => this.createPod(pod, options),
      deletePod: (pod, options) => this.deletePod(pod, options),
      listPods: (options) => this.listPods(options),
      ...more,
    };
  }

  /** A provider that notifies. */
  withNotifications(): PodProvider {
    return this.asProvider({
      notifyPods: (listener, onGap) => {
        this.#listener = listener;
        this.#onGap = onGap;
        return () => (this.#listener = undefined);
      },
    });
  }

  gap(): void {
    this.#onGap?.();
  }

  async createPod(pod: ValidPod, { signal, podHash, restartCount }: ProviderPodOptions): Promise<void> {
    const { uid, name, namespace } = pod.metadata;
    const nodeName = pod.spec?.nodeName ?? '';
    await this.#call('createPod', { uid, name, namespace, nodeName }, signal);
    const before = this.#pods.get(uid)?.reported;
    if (before !== undefined && (before.restartCount ?? 0) >= restartCount) return;
    if (before !== undefined && before.state !== 'stopped') throw new Error(`${name} has not stopped`);
    const run = { state: 'creating', podHash, restartCount } as const;
    this.#pods.set(uid, { pod, reported: { uid, name, namespace, nodeName, ...run } });
    this.starts.push({ name, restartCount, atMs: this.#clock.monotonicMs() });
    this.#clock.afterFunc(this.startMs, () => {
      const reported = this.#pods.get(uid)?.reported;
      if (reported?.state !== 'creating' || reported.restartCount !== restartCount) return;
      this.report(name, {
        state: 'running',
        ips: [`10.0.${this.#addresses >> 8}.${++this.#addresses & 255}`],
        startedAt: new Date(this.#clock.now()),
      });
    });
  }

  async updatePod(
    pod: ValidPod,
    previous: ValidPod | undefined,
    { signal, podHash }: ProviderPodOptions,
  ): Promise<void> {
    const { uid, name, namespace } = pod.metadata;
    await this.#call('updatePod', { uid, name, namespace, nodeName: pod.spec?.nodeName ?? '' }, signal);
    this.updates.push({ pod, previous });
    if (this.#pods.has(uid)) this.report(name, { podHash });
  }

  async deletePod(
    pod: ProviderPodReference,
    { signal, gracePeriodSeconds }: { readonly signal: AbortSignal; readonly gracePeriodSeconds: number },
  ): Promise<void> {
    await this.#call('deletePod', pod, signal);
    this.deletions.push({ name: pod.name, gracePeriodSeconds });
    if (this.forgetsDeletions) return;
    const stopMs = Math.min(this.stopMs, gracePeriodSeconds * 1000);
    this.#clock.afterFunc(stopMs, () => this.#pods.delete(pod.uid));
  }

  async listPods({ signal }: { readonly signal: AbortSignal }): Promise<readonly ProviderPod[]> {
    const pods = [...this.#pods.values()]
      .map(({ reported }) => (this.reportsPodHash ? reported : { ...reported, podHash: undefined }))
      .filter(({ name }) => !this.hidden.has(name));
    await this.#call('listPods', undefined, signal);
    return pods;
  }

  #find(name: string): CloudPod | undefined {
    return [...this.#pods.values()].findLast(({ pod }) => pod.metadata.name === name);
  }

  async #call(call: Call, pod: ProviderPodReference | undefined, signal: AbortSignal): Promise<void> {
    this.calls.push(pod === undefined ? call : `${call} ${pod.name}`);
    const key = pod?.uid ?? '';
    const inProgress = (this.#inProgress.get(key) ?? 0) + 1;
    this.#inProgress.set(key, inProgress);
    if (pod !== undefined) this.maxCallsOfOnePod = Math.max(this.maxCallsOfOnePod, inProgress);
    try {
      if (this.latencyMs > 0) await this.#wait(this.ignoresSignals ? undefined : signal);
      const error = this.#reactions.get(call)?.(pod);
      if (error !== undefined) throw error;
    } finally {
      this.#inProgress.set(key, (this.#inProgress.get(key) ?? 1) - 1);
    }
  }

  #wait(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = this.#clock.afterFunc(this.latencyMs, resolve);
      signal?.addEventListener('abort', () => {
        timer.stop();
        reject(signal.reason as Error);
      });
    });
  }
}
