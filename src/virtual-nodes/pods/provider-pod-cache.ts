import isEqual from 'lodash/isEqual.js';
import type { ValidPod } from '../../kube/objects/types.ts';
import type { Clock } from '../../shared/clock.ts';
import { untilAborted } from '../../shared/abort.ts';
import type { PodCache, PodCacheOptions, PodLifecycleEvent, RuntimePodStatus } from '../../node/index.ts';
import type { ProviderContainer, ProviderPod } from '../pod-provider.ts';
import type { ListedPods, ProviderPodLister, ProviderPodSink } from '../calls/provider-pod-lister.ts';
import { runtimePodStatus } from './provider-pod-status.ts';

export interface ProviderPodCacheOptions {
  readonly nodeName: string;
  readonly lister: Pick<ProviderPodLister, 'beginObservation' | 'lastObservation' | 'listSoon' | 'subscribe'>;
  /** The pod with this UID on the API server. */
  readonly getPodByUID: (podUID: string) => ValidPod | undefined;
  /** False until all pods of the node on the API server are known. */
  readonly arePodsKnown: () => boolean;
  /** Called when a pod has changed, or has been missing for long enough. */
  readonly onEvent: (event: PodLifecycleEvent) => void;
  /** So many lists in a row without a pod mean that it is lost. */
  readonly lostMisses: number;
  readonly clock: Pick<Clock, 'now' | 'monotonicMs'>;
}

/** What is known of a pod in the cloud. */
export interface KnownPod {
  /**
   * - `requested`: the provider was asked to create it, and has not accepted it.
   * - `created`: the provider has accepted it, and has not reported it.
   * - `reported`: the provider has reported it: `pod`.
   * - `expected`: its status shows that it ran before a restart, and the provider has not reported it since.
   */
  readonly state: 'requested' | 'created' | 'reported' | 'expected';
  /** As last reported. */
  readonly pod?: ProviderPod | undefined;
  /** The observation, or the change, that this is from. */
  readonly observation: number;
  /** How many lists in a row that began later did not have it. */
  readonly misses: number;
  /** When it was last reported, in milliseconds since the epoch. */
  readonly reportedAtMs?: number | undefined;
  /** When its deletion was last accepted, on the monotonic clock. */
  readonly deletedAtMs?: number | undefined;
}

/** A pod whose deletion was requested is not an orphan for this long. */
const deletionMs = 60_000;

/**
 * What the provider has of the pods of a node, as the runtime status of each. Observations and changes are numbered: what
 * began before a later one is ignored. A pod that is missing in a list stays as it was last seen, until it is lost.
 *
 * The statuses of pods need no new observation after each sync, as with the agent's PLEG: each change that a sync makes is
 * recorded here.
 */
export class ProviderPodCache implements PodCache, ProviderPodSink {
  readonly #options: ProviderPodCacheOptions;
  /** Lists that began earlier may not include the pods of this node. */
  readonly #since: number;
  readonly #pods = new Map<string, KnownPod>();
  /** By pod UID, what waits for the end of the pod. */
  readonly #waiters = new Map<string, () => void>();
  readonly #listed: Promise<void>;
  #unsubscribe: (() => void) | undefined;
  #settleListed: (() => void) | undefined;
  /** Of the last list. */
  #list: ListedPods = { includes: () => false, mayInclude: () => false };

  constructor(options: ProviderPodCacheOptions) {
    this.#options = options;
    this.#listed = new Promise((resolve) => (this.#settleListed = resolve));
    this.#since = options.lister.lastObservation();
  }

  start(): void {
    const { lister, nodeName } = this.#options;
    this.#unsubscribe = lister.subscribe(nodeName, this);
  }

  stop(): void {
    this.#unsubscribe?.();
  }

  /** True once the provider has listed the pods of the node. */
  get isListed(): boolean {
    return this.#settleListed === undefined;
  }

  /** Resolves when the provider has listed the pods of the node. */
  whenListed(): Promise<void> {
    return this.#listed;
  }

  /** Undefined if the provider does not have the pod, as far as is known. */
  known(podUID: string): KnownPod | undefined {
    return this.#pods.get(podUID);
  }

  /** True when so many lists in a row did not have the pod that it counts as lost. */
  isLost(podUID: string): boolean {
    return (this.#pods.get(podUID)?.misses ?? 0) >= this.#options.lostMisses;
  }

  /** The pods that the provider has, except those whose deletion was requested a short time ago. */
  listed(): ProviderPod[] {
    const nowMs = this.#options.clock.monotonicMs();
    return [...this.#pods.values()].flatMap(({ pod, misses, deletedAtMs = -Infinity }) =>
      pod !== undefined && misses === 0 && nowMs - deletedAtMs >= deletionMs ? [pod] : [],
    );
  }

  /** The number of pods that run, as last reported. */
  get runningPods(): number {
    return [...this.#pods.values()].filter(({ pod, misses }) => pod?.state === 'running' && misses === 0).length;
  }

  replace(pods: readonly ProviderPod[], observation: number, list: ListedPods): string[] {
    if (observation <= this.#since) return [];
    this.#list = list;
    const listed = new Set(pods.map(({ uid }) => uid));
    for (const pod of pods) this.set(pod, observation);
    const others = [...this.#pods.keys()].filter((podUID) => !listed.has(podUID));
    for (const podUID of others) if (this.#isMissing(podUID)) this.#missed(podUID, observation);
    this.#settleListed?.();
    this.#settleListed = undefined;
    return others.flatMap((podUID) => this.#misplaced(podUID) ?? []);
  }

  set(pod: ProviderPod, observation: number): void {
    const known = this.#pods.get(pod.uid);
    if (known !== undefined && observation <= known.observation) return;
    const { deletedAtMs } = known ?? {};
    const reportedAtMs = this.#options.clock.now();
    const fields = fieldsOf(pod);
    const isAsKnown = isEqual(known?.pod, fields);
    const reported = isAsKnown ? known!.pod! : fields;
    this.#pods.set(pod.uid, { state: 'reported', pod: reported, observation, misses: 0, reportedAtMs, deletedAtMs });
    if (known?.misses !== 0 || !isAsKnown) this.#changed(pod.uid);
  }

  /** The provider has said in an observation that began as this one that it does not have the pod. */
  gone(podUID: string, observation: number): void {
    this.#missed(podUID, observation, Number.POSITIVE_INFINITY);
  }

  /** The number of a new observation of one pod: call it right before the provider is asked. */
  beginObservation(): number {
    return this.#options.lister.beginObservation();
  }

  /** The provider is asked to create the pod. */
  requested(podUID: string): void {
    this.#pods.set(podUID, { state: 'requested', observation: this.beginObservation(), misses: 0 });
  }

  /** The provider has accepted the pod. It may have reported it even before that. */
  created(podUID: string): void {
    const { state } = this.#pods.get(podUID) ?? {};
    if (state !== 'reported')
      this.#pods.set(podUID, { state: 'created', observation: this.beginObservation(), misses: 0 });
    this.#options.lister.listSoon();
  }

  /** The provider has accepted the deletion of the pod. */
  deleted(podUID: string): void {
    const known = this.#pods.get(podUID);
    if (known === undefined) return;
    const deletedAtMs = this.#options.clock.monotonicMs();
    // Lists since the first time count: they may take longer than it takes until the deletion is requested again.
    const isFirst = known.deletedAtMs === undefined;
    const since = isFirst ? { observation: this.beginObservation(), misses: 0 } : {};
    this.#pods.set(podUID, { ...known, ...since, deletedAtMs });
    this.#options.lister.listSoon();
  }

  /** The pod ran before a restart. That the first list does not have it is the first miss. */
  expect(podUID: string): void {
    const misses = this.#isMissing(podUID) ? 1 : 0;
    this.#pods.set(podUID, { state: 'expected', observation: 0, misses });
    this.#options.lister.listSoon();
    if (this.isLost(podUID)) this.#changed(podUID);
  }

  /** Forgets the pods that are lost, and not among these. */
  retain(podUIDs: ReadonlySet<string>): void {
    for (const podUID of this.#pods.keys()) if (this.isLost(podUID) && !podUIDs.has(podUID)) this.#pods.delete(podUID);
  }

  /** True when the pod is reported as stopped, or counts as lost after its deletion was requested. */
  hasEnded(podUID: string): boolean {
    const known = this.#pods.get(podUID);
    return (
      known === undefined || known.pod?.state === 'stopped' || (known.deletedAtMs !== undefined && this.isLost(podUID))
    );
  }

  get isEndAwaited(): boolean {
    return this.#waiters.size > 0;
  }

  /** Resolves when `hasEnded`; rejects when `signal` is aborted. At most one call for a pod at a time. */
  async untilEnded(podUID: string, signal: AbortSignal): Promise<void> {
    if (this.hasEnded(podUID)) return;
    let wake = (): void => {};
    const ended = new Promise<void>((resolve) => (wake = resolve));
    this.#waiters.set(podUID, wake);
    try {
      await untilAborted(ended, signal);
    } finally {
      if (this.#waiters.get(podUID) === wake) this.#waiters.delete(podUID);
    }
  }

  /** The pod as its status shows it: as last seen, but undefined once it is lost, unless it was stopped. */
  reported(podUID: string): ProviderPod | undefined {
    const pod = this.#pods.get(podUID)?.pod;
    return pod?.state !== 'stopped' && this.isLost(podUID) ? undefined : pod;
  }

  get(podUID: string): RuntimePodStatus | undefined {
    if (!this.isListed) return undefined;
    const { getPodByUID, clock } = this.#options;
    const pod = getPodByUID(podUID) ?? { metadata: { uid: podUID, name: '', namespace: '' } };
    return runtimePodStatus(pod, this.reported(podUID), { previous: pod.status, nowMs: clock.now() });
  }

  lastObservation(): number {
    return this.#options.lister.lastObservation();
  }

  /**
   * Resolves immediately once the provider has listed the pods of the node, and rejects only when `signal` is aborted. The
   * status is empty: `ProviderPodSyncer` reads what is known at each step of a sync.
   */
  async getNewerThan(
    _pod: ValidPod,
    _observation: number,
    { signal }: PodCacheOptions = {},
  ): Promise<RuntimePodStatus> {
    await untilAborted(this.#listed, signal);
    return { sandboxes: [], containers: [] };
  }

  /**
   * True if the last list neither has the pod nor an entry that could be it. An entry on another node is the pod if this node
   * has it on the API server, or while the pods of this node are not known.
   */
  #isMissing(podUID: string): boolean {
    const { includes, mayInclude } = this.#list;
    const { getPodByUID, arePodsKnown } = this.#options;
    const isMisplaced = includes(podUID) && (getPodByUID(podUID) !== undefined || !arePodsKnown());
    return !isMisplaced && !mayInclude(podUID);
  }

  /** Says so if the last list has a pod of this node on another one. */
  #misplaced(podUID: string): string | undefined {
    const { getPodByUID, nodeName } = this.#options;
    const pod = this.#list.includes(podUID) ? getPodByUID(podUID) : undefined;
    return pod && `nodeName of pod ${pod.metadata.namespace}/${pod.metadata.name} (${podUID}) must be ${nodeName}`;
  }

  /** Counts a list without the pod. For one that is deleted, the next list comes soon, so that its end takes seconds. */
  #missed(podUID: string, observation: number, count = 1): void {
    const known = this.#pods.get(podUID);
    if (known === undefined || observation <= known.observation || this.isLost(podUID)) return;
    this.#pods.set(podUID, { ...known, misses: known.misses + count });
    if (this.isLost(podUID)) this.#changed(podUID);
    else if (known.deletedAtMs !== undefined) this.#options.lister.listSoon();
  }

  #changed(podUID: string): void {
    this.#options.onEvent({ podUID, type: 'PodSync' });
    if (this.hasEnded(podUID)) this.#waiters.get(podUID)?.();
  }
}

type Fields<T> = { readonly [Field in keyof Required<T>]: T[Field] };

/** Without what a provider may add, such as the object of its cloud: that is neither compared nor kept. */
function fieldsOf(pod: ProviderPod): Fields<ProviderPod> {
  const { uid, namespace, name, nodeName, state, ips, reason, message, podHash, startedAt } = pod;
  const containers = pod.containers?.map((container): Fields<ProviderContainer> => {
    const { name, ready, started, restartCount, startedAt, exit, waiting, imageID } = container;
    return { name, ready, started, restartCount, startedAt, exit, waiting, imageID };
  });
  return { uid, namespace, name, nodeName, state, ips, reason, message, podHash, startedAt, containers };
}
