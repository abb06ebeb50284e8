import type { PodStatusInput, ValidPod } from '../../kube/objects/types.ts';
import type { Clock } from '../../shared/clock.ts';
import { untilAborted } from '../../shared/abort.ts';
import { timeFromEpochMs } from '../../shared/time.ts';
import type { PodCache, PodCacheOptions, PodLifecycleEvent, RuntimePodStatus } from '../../node/index.ts';
import type { ProviderPod } from '../pod-provider.ts';
import type { ListedPods, ProviderPodLister, ProviderPodSink } from '../calls/provider-pod-lister.ts';
import {
  hasEnded,
  isEarlierRun,
  isGone,
  isRestarting,
  listedPod,
  type NextCall,
  type ProviderPodPolicy,
  type ProviderPodRecord,
  type ProviderPodReport,
  reconcileProviderPod,
  reportedPod,
  unknownProviderPod,
  type WantedPod,
} from './provider-pod-record.ts';
import { mistakesOf, runtimePodStatus, shownPod } from './provider-pod-status.ts';

export interface ProviderPodCacheOptions extends ProviderPodPolicy {
  readonly nodeName: string;
  readonly lister: Pick<ProviderPodLister, 'beginObservation' | 'lastObservation' | 'listSoon' | 'subscribe'>;
  /** The pod with this UID on the API server. */
  readonly getPodByUID: (podUID: string) => ValidPod | undefined;
  /** The addresses of the Node. */
  readonly hostIPs?: readonly string[] | undefined;
  /** False until all pods of the node on the API server are known. */
  readonly arePodsKnown: () => boolean;
  /** Called when a pod is lost. */
  readonly onLost: (podUID: string) => void;
  /** Called when an observation has changed the record of a pod. */
  readonly onEvent: (event: PodLifecycleEvent) => void;
  readonly clock: Pick<Clock, 'now' | 'monotonicMs'>;
}

const emptyStatus: RuntimePodStatus = { sandboxes: [], containers: [] };

interface Entry {
  record: ProviderPodRecord;
  /** Resolves `untilEnded`. */
  wake?: (() => void) | undefined;
}

/**
 * Owns the records of the pods that a node has in the cloud: see `ProviderPodRecord`. Also shows each pod as a runtime
 * status. Observations and calls are numbered: an observation that began before a call does not undo the call's result.
 *
 * The next sync of a pod needs no new observation, unlike with the agent's PLEG: each change that a sync makes is recorded.
 */
export class ProviderPodCache implements PodCache, ProviderPodSink {
  readonly #options: ProviderPodCacheOptions;
  /** Lists that began earlier may not include the pods of this node. */
  readonly #since: number;
  readonly #entries = new Map<string, Entry>();
  readonly #listed: Promise<void>;
  #unsubscribe: (() => void) | undefined;
  #settleListed: (() => void) | undefined;
  #lastList: ListedPods = { includes: () => false, mayInclude: () => false };

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

  record(podUID: string): ProviderPodRecord {
    return this.#entries.get(podUID)?.record ?? unknownProviderPod;
  }

  /** Records what has happened to a pod, and returns what to do next if it is wanted. */
  reconcile(
    podUID: string,
    { report, wanted }: { readonly report?: ProviderPodReport; readonly wanted?: WantedPod },
  ): NextCall {
    const before = this.record(podUID);
    const nowMs = this.#options.clock.monotonicMs();
    const isUnlisted = this.#isUnlisted(podUID);
    const { record, call } = reconcileProviderPod(before, { report, wanted, isUnlisted, nowMs }, this.#options);
    this.#store(podUID, record);
    if (before.state.kind === 'reported' && record.state.kind === 'lost') this.#options.onLost(podUID);
    const isObservation = report?.kind === 'listed' || report?.kind === 'missing' || report?.kind === 'notFound';
    if (isObservation && (before.state.kind !== record.state.kind || reportedPod(before) !== reportedPod(record)))
      this.#options.onEvent({ podUID, type: 'PodSync' });
    // A list should soon show the effect of a call, or the end of a deleted pod.
    const isExpected = report === undefined && before.state.kind === 'notAsked' && record !== before;
    const mayEnd = record.state.kind === 'ending' && (report?.kind === 'deleted' || report?.kind === 'missing');
    if (isExpected || mayEnd || report?.kind === 'created') this.#options.lister.listSoon();
    return call;
  }

  /** True if the pod has stopped, and is to be started again. */
  isRestarting(pod: ValidPod, previous: PodStatusInput | null | undefined): boolean {
    return isRestarting(this.record(pod.metadata.uid), pod, previous, this.#options);
  }

  /** Remembers what the status of a pod was generated from. */
  setGenerated(podUID: string, generated: ProviderPodRecord['generated']): void {
    this.#store(podUID, { ...this.record(podUID), generated });
  }

  /** Drops the records of the pods that are neither in the cloud nor among these. Nothing else drops a record. */
  removeOrphanedPods(remainingPodUIDs: ReadonlySet<string>): void {
    for (const [podUID, { record }] of this.#entries)
      if (isGone(record, this.#options) && !remainingPodUIDs.has(podUID)) this.#entries.delete(podUID);
  }

  /** The pods that the provider has, except those whose deletion was accepted a short time ago. */
  listed(): ProviderPod[] {
    const nowMs = this.#options.clock.monotonicMs();
    return [...this.#entries.values()].flatMap(({ record }) => listedPod(record, nowMs) ?? []);
  }

  /** The pods that the provider has accepted and not listed: see `unlistedSinceMs` of their records. */
  unlistedPods(): { readonly pod: ValidPod; readonly sinceMs: number }[] {
    return [...this.#entries].flatMap(([podUID, { record }]) => {
      const pod = record.unlistedSinceMs === undefined ? undefined : this.#options.getPodByUID(podUID);
      return pod === undefined ? [] : { pod, sinceMs: record.unlistedSinceMs! };
    });
  }

  /** The number of pods that run, as last reported. */
  get runningPods(): number {
    return [...this.#entries.values()].filter(
      ({ record }) => record.missingLists === 0 && reportedPod(record)?.state === 'running',
    ).length;
  }

  replace(pods: readonly ProviderPod[], observation: number, list: ListedPods): string[] {
    if (observation <= this.#since) return [];
    this.#lastList = list;
    const listed = new Set(pods.map(({ uid }) => uid));
    for (const pod of pods)
      if (isEarlierRun(this.record(pod.uid), pod))
        this.reconcile(pod.uid, { report: { kind: 'missing', observation } });
      else this.set(pod, observation);
    const others = [...this.#entries.keys()].filter((podUID) => !listed.has(podUID));
    for (const podUID of others)
      if (this.#isUnlisted(podUID)) this.reconcile(podUID, { report: { kind: 'missing', observation } });
    this.#settleListed?.();
    this.#settleListed = undefined;
    const { getPodByUID, hostIPs } = this.#options;
    const known = pods.flatMap((reported) => {
      const pod = getPodByUID(reported.uid);
      return pod === undefined ? [] : { pod, reported };
    });
    return [
      ...mistakesOf(known, hostIPs),
      ...others.flatMap((podUID) => this.#misplaced(podUID) ?? []),
      ...this.unlistedPods().map(
        ({ pod, sinceMs }) =>
          `${shownPod(pod)}, which createPod accepted at ${timeFromEpochMs(sinceMs)}, is not listed`,
      ),
    ];
  }

  set(pod: ProviderPod, observation: number): void {
    const atMs = this.#options.clock.now();
    this.reconcile(pod.uid, { report: { kind: 'listed', pod, observation, atMs } });
  }

  /** The number of a new observation or call: take it right before the provider is asked. */
  beginObservation(): number {
    return this.#options.lister.beginObservation();
  }

  /** True if the cloud may have a pod that is being deleted, that the API server does not have, or that must not run. */
  isSomeEnding(mustNotRun: (podUID: string) => boolean): boolean {
    for (const [podUID, { record }] of this.#entries) {
      const isOrphan = this.#options.getPodByUID(podUID) === undefined;
      const mustEnd = hasEnded(record)
        ? isOrphan && reportedPod(record) !== undefined
        : isOrphan || record.state.kind === 'ending' || mustNotRun(podUID);
      if (mustEnd) return true;
    }
    return false;
  }

  get isEndAwaited(): boolean {
    return [...this.#entries.values()].some(({ wake }) => wake !== undefined);
  }

  /** Resolves when the pod has ended; rejects when `signal` is aborted. At most one call for a pod at a time. */
  async untilEnded(podUID: string, signal: AbortSignal): Promise<void> {
    const entry = this.#entries.get(podUID);
    if (entry === undefined || hasEnded(entry.record)) return;
    const ended = new Promise<void>((resolve) => (entry.wake = resolve));
    const { wake } = entry;
    try {
      await untilAborted(ended, signal);
    } finally {
      if (entry.wake === wake) entry.wake = undefined;
    }
  }

  get(podUID: string): RuntimePodStatus | undefined {
    if (!this.isListed) return undefined;
    const { getPodByUID, clock } = this.#options;
    const pod = getPodByUID(podUID) ?? { metadata: { uid: podUID, name: '', namespace: '' } };
    return runtimePodStatus(pod, reportedPod(this.record(podUID)), { previous: pod.status, nowMs: clock.now() });
  }

  lastObservation(): number {
    return this.#options.lister.lastObservation();
  }

  /**
   * Resolves once the provider has listed the pods of the node, and rejects only when `signal` is aborted. The status is empty:
   * `ProviderPodSyncer` reads the record.
   */
  async getNewerThan(
    _pod: ValidPod,
    _observation: number,
    { signal }: PodCacheOptions = {},
  ): Promise<RuntimePodStatus> {
    if (!this.isListed) await untilAborted(this.#listed, signal);
    return emptyStatus;
  }

  #store(podUID: string, record: ProviderPodRecord): void {
    const entry = this.#entries.get(podUID);
    if (entry !== undefined) entry.record = record;
    else if (record !== unknownProviderPod) this.#entries.set(podUID, { record });
    if (hasEnded(record)) entry?.wake?.();
  }

  /**
   * True if the last list neither has the pod nor an entry that could be it. An entry on another node is the pod if this node
   * has it on the API server, or while the pods of this node are not known.
   */
  #isUnlisted(podUID: string): boolean {
    const { includes, mayInclude } = this.#lastList;
    const { getPodByUID, arePodsKnown } = this.#options;
    const isMisplaced = includes(podUID) && (getPodByUID(podUID) !== undefined || !arePodsKnown());
    return !isMisplaced && !mayInclude(podUID);
  }

  /** Says so if the last list has a pod of this node on another one. */
  #misplaced(podUID: string): string | undefined {
    const { getPodByUID, nodeName } = this.#options;
    const pod = this.#lastList.includes(podUID) ? getPodByUID(podUID) : undefined;
    return pod && `nodeName of pod ${pod.metadata.namespace}/${pod.metadata.name} (${podUID}) must be ${nodeName}`;
  }
}
