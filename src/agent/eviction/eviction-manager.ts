import type { ValidPod } from '../../kube/objects/types.ts';
import { podFieldsOf } from '../../kube/pods/pod-log-fields.ts';
import { computePodQOS } from '../../status-manager/status/qos.ts';
import type { Clock } from '../../shared/clock.ts';
import { type Failure, FailureLog } from '../../shared/failure-log.ts';
import { type Logger, reasonOf } from '../../shared/logger.ts';
import { Ticker } from '../../shared/ticker.ts';
import { timeFromEpochMs } from '../../shared/time.ts';
import {
  type EventRecorder,
  evictionGracePeriod,
  isCriticalPod,
  type NodeCondition,
  nodeReference,
  type PodAdmitAttributes,
  type PodAdmitHandler,
  type PodAdmitResult,
  pressureConditions,
  type PressureType,
  toleratesTaints,
} from '../../node/index.ts';
import {
  evictionMessage,
  type EvictionReason,
  formatAmount,
  reclaimTarget,
  thresholdQuantity,
} from './eviction-message.ts';
import { hasLocalStorageLimit, localStorageExcess } from './local-storage-eviction.ts';
import { type MetThreshold, MetThresholds } from './met-thresholds.ts';
import type { PodUsage } from './pod-usage.ts';
import { rankPods, storageParts } from './rank-pods.ts';
import { type EvictionSignal, type Observations, signals, type Threshold, thresholdsMet } from './thresholds.ts';

export interface EvictionManagerOptions {
  readonly nodeName: string;
  /** Empty: only limits of local storage are enforced. */
  readonly thresholds: readonly Threshold[];
  /** How long a condition stays after its last threshold was met. */
  readonly pressureTransitionPeriodMs: number;
  /** The longest grace period of a pod that is evicted for a soft threshold. */
  readonly maxPodGracePeriodSeconds: number;
  /** The amounts that thresholds are compared with. */
  readonly observe: (signal: AbortSignal) => Promise<Observations>;
  /** True if containers write to another file system than volumes and logs. */
  readonly hasDedicatedImageFs: (signal: AbortSignal) => Promise<boolean>;
  /** The usage of these pods, by UID. */
  readonly podUsage: (pods: readonly ValidPod[], signal: AbortSignal) => Promise<ReadonlyMap<string, PodUsage>>;
  readonly getActivePods: () => readonly ValidPod[];
  /** Resolves with false for a pod that must not be evicted. `isDisruption`: false if the pod has exceeded its own limits. */
  readonly evict: (
    pod: ValidPod,
    eviction: EvictionReason & { readonly gracePeriodSeconds: number; readonly isDisruption: boolean },
    signal: AbortSignal,
  ) => Promise<boolean>;
  readonly isTerminated: (podUID: string) => boolean;
  /** Frees space on the disk of the node without evicting pods. */
  readonly reclaimDisk: () => Promise<void>;
  /** Called for each eviction, with its cause: a signal, or the kind of limit that a pod has exceeded. */
  readonly podEvicted: (signal: string) => void;
  readonly eventRecorder: EventRecorder;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Source: kubelet `evictionMonitoringPeriod`, `immediateEvictionGracePeriodSeconds`, `podCleanupTimeout`. */
const periodMs = 10_000;
const immediateGracePeriodSeconds = 1;
const cleanUpMs = 30_000;

/** Whether the node runs out of a resource, and what was done about it. */
export interface EvictionInspection {
  /** When the amounts were last observed. */
  readonly observedAt: string | undefined;
  /** Why they cannot be observed, and since when. */
  readonly failure: Failure | undefined;
  /** The thresholds that are met, in the order of the options. */
  readonly metThresholds: readonly {
    readonly signal: EvictionSignal;
    /** The amount below which it is met: `100Mi`. */
    readonly threshold: string;
    /** The amount until which pods are evicted, with the minimum reclaim: `150Mi`. */
    readonly reclaimTarget: string;
    /** The last observed amount: `50Mi`. */
    readonly available: string;
    readonly since: string;
    /** False while the grace period of a soft threshold has not passed. */
    readonly isEvicting: boolean;
  }[];
  /** The conditions of the Node that are True. */
  readonly pressure: readonly PressureType[];
  /**
   * When the oldest volume stats that the last check used were measured; undefined if it used none. Stats of a pod with many
   * files may be old.
   */
  readonly oldestVolumeStatsAt: string | undefined;
  readonly lastEviction:
    | { readonly pod: string; readonly podUID: string; readonly at: string; readonly message: string }
    | undefined;
}

interface EvictionOfPod {
  readonly message: string;
  /** The label of the metric. */
  readonly signal: string;
  readonly gracePeriodSeconds: number;
  readonly isDisruption: boolean;
}

/**
 * Evicts pods that exceed their limits of local storage, and one pod after the other while the node runs out of a resource;
 * reports such pressure as conditions of the Node, and refuses new pods in the meantime. Source: kubelet `eviction.Manager`.
 *
 * Divergence: there is no threshold for allocatable memory, and no kernel notification, which the kubelet has off by
 * default: pressure is seen within 10 s.
 */
export class EvictionManager implements PodAdmitHandler {
  readonly #options: EvictionManagerOptions;
  readonly #ticker: Ticker;
  readonly #failures: FailureLog;
  readonly #noPods: FailureLog;
  readonly #stop = new AbortController();
  readonly #thresholds: MetThresholds;
  #observedAt: string | undefined;
  #oldestVolumeStatsAt: string | undefined;
  #lastEviction: EvictionInspection['lastEviction'];
  #cleanUp: { readonly podUIDs: readonly string[]; readonly untilMs: number } | undefined;

  constructor(options: EvictionManagerOptions) {
    this.#options = options;
    const { clock, logger, thresholds, pressureTransitionPeriodMs } = options;
    this.#thresholds = new MetThresholds(thresholds, pressureTransitionPeriodMs);
    this.#ticker = new Ticker(clock, periodMs, () => this.#tick());
    this.#failures = new FailureLog({ clock, logger, what: 'Checking whether pods must be evicted' });
    const noPods = { failed: 'No pod can be evicted', recovered: 'A pod can be evicted again' };
    this.#noPods = new FailureLog({ clock, logger, what: noPods });
  }

  start(): void {
    this.#ticker.start();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#ticker.stop();
    await this.#ticker.whenIdle();
  }

  /** The conditions that are True. */
  conditions(): NodeCondition[] {
    return pressureConditions('True', this.#pressure());
  }

  inspect(): EvictionInspection {
    const { clock } = this.#options;
    return {
      observedAt: this.#observedAt,
      failure: this.#failures.failure,
      metThresholds: this.#thresholds.met.map(({ threshold, metSinceMs, observed, isGracePeriodOver }) => ({
        signal: threshold.signal,
        threshold: thresholdQuantity(threshold, observed),
        reclaimTarget: reclaimTarget(threshold, observed),
        available: formatAmount(signals[threshold.signal].resource, observed.available),
        since: timeFromEpochMs(clock.now() - (clock.monotonicMs() - metSinceMs)),
        isEvicting: isGracePeriodOver,
      })),
      pressure: [...this.#pressure()],
      oldestVolumeStatsAt: this.#oldestVolumeStatsAt,
      lastEviction: this.#lastEviction,
    };
  }

  /** Source: kubelet `managerImpl.Admit`. */
  admit({ pod }: PodAdmitAttributes): PodAdmitResult {
    const pressure = this.#pressure();
    if (pressure.size === 0 || isCriticalPod(pod)) return { admit: true };
    if (pressure.size === 1 && pressure.has('MemoryPressure')) {
      const taint = { key: 'node.kubernetes.io/memory-pressure', effect: 'NoSchedule' };
      if (computePodQOS(pod) !== 'BestEffort' || toleratesTaints(pod, [taint])) return { admit: true };
    }
    return { admit: false, reason: 'Evicted', message: `The node had condition: [${[...pressure].join(' ')}]. ` };
  }

  /** One round; resolves with the evicted pods. Source: kubelet `synchronize`. */
  async synchronize(): Promise<readonly ValidPod[]> {
    const { thresholds, getActivePods, observe, podUsage, hasDedicatedImageFs } = this.#options;
    const { signal } = this.#stop;
    if (thresholds.length > 0) this.#observed(await observe(signal));
    const mostUrgent = this.#thresholds.mostUrgent();
    // So the log shows that the threshold is no longer met.
    if (mostUrgent === undefined) this.#noPods.reset();

    const pods = getActivePods();
    const measured = mostUrgent === undefined ? pods.filter(hasLocalStorageLimit) : pods;
    if (measured.length === 0 && mostUrgent === undefined) return [];
    const usage = await podUsage(measured, signal);
    this.#oldestVolumeStatsAt = [...usage.values()].flatMap(({ volumeStats }) => volumeStats?.time ?? []).toSorted()[0];
    const isDedicated = await hasDedicatedImageFs(signal);
    const evicted = await this.#evictByLimits(measured, usage, isDedicated);
    if (evicted.length > 0 || mostUrgent === undefined) return evicted;
    return this.#evictByPressure(mostUrgent, pods, usage, isDedicated);
  }

  #pressure(): ReadonlySet<PressureType> {
    return this.#thresholds.pressure(this.#options.clock.monotonicMs());
  }

  #observed(observations: Observations): void {
    const { clock, logger, nodeName } = this.#options;
    const { begun, ended } = this.#thresholds.observe(observations, clock.monotonicMs());
    this.#observedAt = timeFromEpochMs(clock.now());
    const fieldsOf = ({ threshold, observed }: MetThreshold): object => ({
      ...{ node: nodeName, signal: threshold.signal, threshold: thresholdQuantity(threshold, observed) },
      available: formatAmount(
        signals[threshold.signal].resource,
        observations.get(threshold.signal)?.available ?? observed.available,
      ),
    });
    for (const met of begun)
      logger.warn({ ...fieldsOf(met), gracePeriodMs: met.threshold.gracePeriodMs }, 'An eviction threshold is met');
    for (const met of ended)
      logger.info(
        { ...fieldsOf(met), metMs: Math.round(clock.monotonicMs() - met.metSinceMs) },
        'An eviction threshold is no longer met',
      );
  }

  async #tick(): Promise<void> {
    const { clock, isTerminated } = this.#options;
    if (this.#cleanUp !== undefined) {
      const { podUIDs, untilMs } = this.#cleanUp;
      // The evicted pods have not freed their resources yet.
      if (clock.monotonicMs() < untilMs && !podUIDs.every(isTerminated)) return;
      this.#cleanUp = undefined;
    }
    try {
      const evicted = await this.synchronize();
      this.#failures.succeeded();
      if (evicted.length > 0) {
        const podUIDs = evicted.map(({ metadata }) => metadata.uid);
        this.#cleanUp = { podUIDs, untilMs: clock.monotonicMs() + cleanUpMs };
      }
    } catch (error) {
      if (!this.#stop.signal.aborted) this.#failures.failed(error);
    }
  }

  async #evictByLimits(
    pods: readonly ValidPod[],
    usage: ReadonlyMap<string, PodUsage>,
    isDedicated: boolean,
  ): Promise<ValidPod[]> {
    // In parallel: a slow container does not delay the eviction of the next pod.
    const evictions = pods.map(async (pod) => {
      const used = usage.get(pod.metadata.uid);
      const excess = used && localStorageExcess(pod, used, isDedicated);
      if (excess === undefined) return [];
      const eviction = { ...excess, gracePeriodSeconds: immediateGracePeriodSeconds, isDisruption: false };
      return (await this.#evict(pod, eviction)) ? [pod] : [];
    });
    return (await Promise.all(evictions)).flat();
  }

  async #evictByPressure(
    { threshold, observed }: MetThreshold,
    pods: readonly ValidPod[],
    usage: ReadonlyMap<string, PodUsage>,
    isDedicated: boolean,
  ): Promise<readonly ValidPod[]> {
    const { thresholds, observe, reclaimDisk, eventRecorder, nodeName, logger } = this.#options;
    const { signal } = threshold;
    const { resource } = signals[signal];
    logger.info({ node: nodeName, signal, resource }, 'Attempting to reclaim a resource');
    eventRecorder.event({
      object: nodeReference(nodeName, undefined),
      ...{ type: 'Warning', reason: 'EvictionThresholdMet', message: `Attempting to reclaim ${resource}` },
    });
    // Containers and images are on the other file system. Source: kubelet `buildSignalToNodeReclaimFuncs`.
    const isOtherDisk = isDedicated && signal.startsWith('nodefs.');
    if (signals[signal].condition === 'DiskPressure' && !isOtherDisk) {
      await reclaimDisk().catch((error: unknown) =>
        logger.warn({ reason: reasonOf(error) }, 'Failed to free space on the disk'),
      );
      const after = thresholdsMet(thresholds, await observe(this.#stop.signal), { enforceMinimumReclaim: true });
      if (after.length === 0) return [];
    }
    const usageOf = ({ metadata }: ValidPod): PodUsage | undefined => usage.get(metadata.uid);
    const parts = storageParts(signal, isDedicated);
    for (const pod of rankPods(pods, usageOf, { resource, parts })) {
      const explained = evictionMessage(threshold, pod, usageOf(pod), observed);
      const gracePeriodSeconds = this.#gracePeriodSeconds(threshold, pod);
      if (!(await this.#evict(pod, { ...explained, signal, gracePeriodSeconds, isDisruption: true }))) continue;
      this.#noPods.reset();
      return [pod];
    }
    const why = pods.length === 0 ? 'the node has no pods' : 'all pods are critical';
    this.#noPods.failed(new Error(why), { node: nodeName, signal, resource });
    return [];
  }

  #gracePeriodSeconds({ gracePeriodMs }: Threshold, pod: ValidPod): number {
    if (gracePeriodMs === 0) return immediateGracePeriodSeconds;
    return evictionGracePeriod(pod, this.#options.maxPodGracePeriodSeconds);
  }

  async #evict(pod: ValidPod, { signal, ...eviction }: EvictionOfPod): Promise<boolean> {
    const { logger, clock, evict, podEvicted } = this.#options;
    this.#stop.signal.throwIfAborted();
    const fields = podFieldsOf(pod);
    let isEvicted: boolean;
    try {
      isEvicted = await evict(pod, eviction, this.#stop.signal);
    } catch (error) {
      // The pod is still killed later.
      if (!this.#stop.signal.aborted)
        logger.warn({ ...fields, reason: reasonOf(error) }, 'An evicted pod ends too slowly');
      isEvicted = true;
    }
    if (!isEvicted) return false;
    const { name, namespace, uid: podUID } = pod.metadata;
    const { message } = eviction;
    this.#lastEviction = { pod: `${namespace}/${name}`, podUID, at: timeFromEpochMs(clock.now()), message };
    podEvicted(signal);
    return true;
  }
}
