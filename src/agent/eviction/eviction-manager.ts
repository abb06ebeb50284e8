import { formatQuantity, quantityValue } from '../../kube/quantity.ts';
import type { ValidPod } from '../../kube/types.ts';
import { podFieldsOf } from '../../kube/log-fields.ts';
import { computePodQOS } from '../../status-manager/status/qos.ts';
import { undefinedIfAborted } from '../../shared/abort.ts';
import type { Clock } from '../../shared/clock.ts';
import { FailureLog } from '../../shared/failure-log.ts';
import { type Logger, reasonOf } from '../../shared/logger.ts';
import { Ticker } from '../../shared/ticker.ts';
import { toleratesTaints } from '../admission/general-predicates.ts';
import type { PodAdmitAttributes, PodAdmitHandler, PodAdmitResult } from '../allocation/pod-admission.ts';
import type { EventRecorder } from '../events/event-recorder.ts';
import { nodeReference } from '../events/kube-event.ts';
import type { NodeCondition } from '../node/node-types.ts';
import { isCriticalPod } from './evict-pod.ts';
import { hasLocalStorageLimit, localStorageExcess } from './local-storage-eviction.ts';
import type { PodUsage } from './pod-usage.ts';
import { rankPods, storageParts } from './rank-pods.ts';
import {
  type Observations,
  pressureConditions,
  signals,
  type StarvedResource,
  type Threshold,
  thresholdAmount,
  thresholdsMet,
} from './thresholds.ts';

export interface EvictionManagerOptions {
  readonly nodeName: string;
  /** Empty: only limits of local storage are enforced. */
  readonly thresholds: readonly Threshold[];
  /** How long a condition stays after its last threshold was met. */
  readonly pressureTransitionPeriodMs: number;
  /** The amounts that thresholds are compared with. */
  readonly observe: (signal: AbortSignal) => Promise<Observations>;
  /** True if containers write to another file system than volumes and logs. */
  readonly hasDedicatedImageFs: (signal: AbortSignal) => Promise<boolean>;
  /** The usage of these pods, by UID. */
  readonly podUsage: (pods: readonly ValidPod[], signal: AbortSignal) => Promise<ReadonlyMap<string, PodUsage>>;
  readonly getActivePods: () => readonly ValidPod[];
  /** Resolves with false for a pod that must not be evicted. `isDisruption`: the pod itself kept its limits. */
  readonly evict: (
    pod: ValidPod,
    eviction: { readonly message: string; readonly gracePeriodSeconds: number; readonly isDisruption: boolean },
  ) => Promise<boolean>;
  readonly isTerminated: (podUID: string) => boolean;
  /** Frees space on the disk of the node without evicting pods. */
  readonly reclaimDisk: () => Promise<void>;
  readonly eventRecorder: EventRecorder;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Source: kubelet `evictionMonitoringPeriod`, `immediateEvictionGracePeriodSeconds`, `podCleanupTimeout`. */
const periodMs = 10_000;
const gracePeriodSeconds = 1;
const cleanUpMs = 30_000;

/**
 * Evicts pods that exceed their limits of local storage, and one pod after the other while the node runs out of a
 * resource; reports such pressure as conditions of the Node, and refuses new pods in the meantime. Source: kubelet
 * `eviction.Manager`.
 *
 * Divergence: only hard thresholds, without a minimum to reclaim; and no notification of the kernel, so that pressure is
 * seen within 10 s.
 */
export class EvictionManager implements PodAdmitHandler {
  readonly #options: EvictionManagerOptions;
  readonly #ticker: Ticker;
  readonly #failures: FailureLog;
  readonly #stop = new AbortController();
  /** Condition → when it was last observed. */
  readonly #observedMs = new Map<string, number>();
  #cleanUp: { readonly podUIDs: readonly string[]; readonly untilMs: number } | undefined;

  constructor(options: EvictionManagerOptions) {
    this.#options = options;
    const { clock, logger } = options;
    this.#ticker = new Ticker(clock, periodMs, () => this.#tick());
    this.#failures = new FailureLog({ clock, logger, what: 'Checking whether pods must be evicted' });
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
    return pressureConditions(this.#pressure());
  }

  /** Source: kubelet `managerImpl.Admit`. */
  admit({ pod, operation }: PodAdmitAttributes): PodAdmitResult {
    const pressure = this.#pressure();
    if (operation === 'resize' || pressure.size === 0 || isCriticalPod(pod)) return { admit: true };
    if (pressure.size === 1 && pressure.has('MemoryPressure')) {
      const taint = { key: 'node.kubernetes.io/memory-pressure', effect: 'NoSchedule' };
      if (computePodQOS(pod) !== 'BestEffort' || toleratesTaints(pod, [taint])) return { admit: true };
    }
    return { admit: false, reason: 'Evicted', message: `The node had condition: [${[...pressure].join(' ')}]. ` };
  }

  /** One round; resolves with the evicted pods. Source: kubelet `synchronize`. */
  async synchronize(): Promise<readonly ValidPod[]> {
    const { thresholds, getActivePods, observe, podUsage, hasDedicatedImageFs, clock } = this.#options;
    const { signal } = this.#stop;
    const observations: Observations = thresholds.length > 0 ? await observe(signal) : new Map();
    const met = thresholdsMet(thresholds, observations);
    for (const threshold of met) this.#observedMs.set(signals[threshold.signal].condition, clock.monotonicMs());

    const pods = getActivePods();
    const measured = met.length > 0 ? pods : pods.filter(hasLocalStorageLimit);
    if (measured.length === 0) return [];
    const usage = await podUsage(measured, signal);
    const isDedicated = await hasDedicatedImageFs(signal);
    const evicted = await this.#evictByLimits(measured, usage, isDedicated);
    if (evicted.length > 0 || met.length === 0) return evicted;
    return this.#evictByPressure(met[0]!, pods, { usage, observations, isDedicated });
  }

  #pressure(): ReadonlySet<string> {
    const { clock, pressureTransitionPeriodMs } = this.#options;
    const nowMs = clock.monotonicMs();
    return new Set(
      [...this.#observedMs].filter(([, atMs]) => nowMs - atMs < pressureTransitionPeriodMs).map(([type]) => type),
    );
  }

  async #tick(): Promise<void> {
    const { clock, isTerminated } = this.#options;
    if (this.#cleanUp !== undefined) {
      const { podUIDs, untilMs } = this.#cleanUp;
      // What the evicted pods use is not free yet.
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
      const message = used && localStorageExcess(pod, used, isDedicated);
      return message !== undefined && (await this.#evict(pod, message, false)) ? [pod] : [];
    });
    return (await Promise.all(evictions)).flat();
  }

  async #evictByPressure(
    threshold: Threshold,
    pods: readonly ValidPod[],
    observed: {
      readonly usage: ReadonlyMap<string, PodUsage>;
      readonly observations: Observations;
      readonly isDedicated: boolean;
    },
  ): Promise<readonly ValidPod[]> {
    const { thresholds, observe, reclaimDisk, eventRecorder, nodeName, logger } = this.#options;
    const { resource } = signals[threshold.signal];
    logger.warn({ node: nodeName, resource, threshold: threshold.value }, 'The node runs out of a resource');
    eventRecorder.event({
      object: nodeReference(nodeName, undefined),
      ...{ type: 'Warning', reason: 'EvictionThresholdMet', message: `Attempting to reclaim ${resource}` },
    });
    if (signals[threshold.signal].condition === 'DiskPressure') {
      await reclaimDisk().catch((error: unknown) =>
        logger.warn({ reason: reasonOf(error) }, 'Failed to free space on the disk'),
      );
      if (thresholdsMet(thresholds, await observe(this.#stop.signal)).length === 0) return [];
    }
    const usageOf = ({ metadata }: ValidPod): PodUsage | undefined => observed.usage.get(metadata.uid);
    const parts = storageParts(threshold.signal, observed.isDedicated);
    for (const pod of rankPods(pods, usageOf, { resource, parts })) {
      const message = pressureMessage(threshold, resource, pod, usageOf(pod), observed.observations);
      if (await this.#evict(pod, message, true)) return [pod];
    }
    logger.warn({ node: nodeName, resource }, 'No pod can be evicted');
    return [];
  }

  async #evict(pod: ValidPod, message: string, isDisruption: boolean): Promise<boolean> {
    this.#stop.signal.throwIfAborted();
    try {
      const { signal } = this.#stop;
      const eviction = this.#options.evict(pod, { message, gracePeriodSeconds, isDisruption });
      return (await undefinedIfAborted(eviction, signal)) ?? true;
    } catch (error) {
      // The pod is still killed later.
      this.#options.logger.warn({ ...podFieldsOf(pod), reason: reasonOf(error) }, 'An evicted pod ends too slowly');
      return true;
    }
  }
}

/** Source: kubelet `evictionMessage`. */
function pressureMessage(
  threshold: Threshold,
  resource: StarvedResource,
  { spec }: ValidPod,
  usage: PodUsage | undefined,
  observations: Observations,
): string {
  const observed = observations.get(threshold.signal)!;
  const format = resource === 'inodes' || resource === 'pids' ? String : binarySI;
  const amount = thresholdAmount(threshold, observed.capacity);
  let message = `The node was low on resource: ${resource}. Threshold quantity: ${
    threshold.value.endsWith('%') ? format(amount) : threshold.value
  }, available: ${format(observed.available)}. `;
  for (const stats of usage?.stats?.containers ?? []) {
    const container = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])].find(
      ({ name }) => name === stats.name,
    );
    const used =
      resource === 'memory'
        ? stats.memory?.workingSetBytes
        : resource === 'ephemeral-storage'
          ? (stats.rootfs?.usedBytes ?? 0) + (stats.logs?.usedBytes ?? 0)
          : undefined;
    const request = container?.resources?.requests?.[resource] ?? '0';
    if (container !== undefined && used !== undefined && used > (quantityValue(request) ?? 0))
      message += `Container ${stats.name} was using ${binarySI(used)}, request is ${request}, has larger consumption of ${resource}. `;
  }
  return message;
}

function binarySI(bytes: number): string {
  return formatQuantity({ nanos: BigInt(Math.trunc(bytes)) * 10n ** 9n, format: 'BinarySI' });
}
