import type { Container, Pod, ValidPod } from '../../kube/types.ts';
import { podFieldsOf } from '../../kube/log-fields.ts';
import { compareQuantities, quantityValue } from '../../kube/quantity.ts';
import type { Clock } from '../../shared/clock.ts';
import { FailureLog } from '../../shared/failure-log.ts';
import { type Logger, reasonOf } from '../../shared/logger.ts';
import { Ticker } from '../../shared/ticker.ts';
import { isRestartableInitContainer } from '../../status-manager/status/container-restart.ts';
import { podStatusResources } from '../../status-manager/status/pod-resources.ts';
import type { ContainerRuntime } from '../runtime/container-runtime.ts';
import type { PodStats } from '../runtime/pod-stats.ts';
import { volumesOf } from '../volumes/volume-sources.ts';
import type { Eviction } from './evict-pod.ts';

/** Source: kubelet `evictionMonitoringPeriod`. */
const periodMs = 10_000;
/** Source: kubelet `immediateEvictionGracePeriodSeconds`. */
const gracePeriodSeconds = 1;
const resource = 'ephemeral-storage';

export interface LocalStorageEvictionOptions {
  readonly runtime: Pick<ContainerRuntime, 'listPodStats'>;
  /** Bytes used by the pod's emptyDir volumes on disk, by name. Default: volumes are not measured. */
  readonly emptyDirUsage: ((pod: ValidPod) => Promise<ReadonlyMap<string, number>>) | undefined;
  readonly getActivePods: () => readonly ValidPod[];
  /** Resolves when the pod's containers have ended. */
  readonly evict: (pod: ValidPod, eviction: Eviction) => Promise<unknown>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Evicts pods that use more local storage than the limits of their containers or volumes allow. Only pods with such a
 * limit are measured, every 10 s. Source: kubelet eviction manager, `localStorageEviction`.
 */
export class LocalStorageEviction {
  readonly #options: LocalStorageEvictionOptions;
  readonly #ticker: Ticker;
  readonly #failures: FailureLog;
  readonly #stop = new AbortController();
  /** UIDs of pods whose containers have not ended yet. */
  readonly #evicting = new Set<string>();

  constructor(options: LocalStorageEvictionOptions) {
    const { clock, logger } = options;
    this.#options = options;
    this.#ticker = new Ticker(clock, periodMs, () => this.#tick());
    this.#failures = new FailureLog({ logger, clock, what: 'Measuring the local storage of pods' });
  }

  start(): void {
    this.#ticker.start();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#ticker.stop();
    await this.#ticker.whenIdle();
  }

  async #tick(): Promise<void> {
    try {
      await this.#evictPods();
      this.#failures.succeeded();
    } catch (error) {
      if (!this.#stop.signal.aborted) this.#failures.failed(error);
    }
  }

  async #evictPods(): Promise<void> {
    const { runtime, emptyDirUsage, getActivePods } = this.#options;
    const pods = getActivePods().filter((pod) => hasLimit(pod) && !this.#evicting.has(pod.metadata.uid));
    if (pods.length === 0) return;
    const { signal } = this.#stop;
    const stats = new Map((await runtime.listPodStats?.({ signal }))?.map((one) => [one.podRef.uid, one]));
    for (const pod of pods) {
      const volumes = (await emptyDirUsage?.(pod)) ?? new Map<string, number>();
      const message = localStorageExcess(pod, stats.get(pod.metadata.uid), volumes);
      // A slow container does not delay the eviction of the next pod.
      if (message !== undefined && !signal.aborted) void this.#evict(pod, message);
    }
  }

  async #evict(pod: ValidPod, message: string): Promise<void> {
    const { evict, logger } = this.#options;
    const { uid } = pod.metadata;
    this.#evicting.add(uid);
    try {
      await evict(pod, { message, gracePeriodSeconds });
    } catch (error) {
      logger.error({ ...podFieldsOf(pod), reason: reasonOf(error) }, 'Failed to evict a pod');
    }
    this.#evicting.delete(uid);
  }
}

function hasLimit(pod: Pod): boolean {
  return limitedContainers(pod).length > 0 || limitedVolumes(pod).length > 0;
}

/**
 * Why a pod must be evicted; undefined if it need not be.
 * Source: kubelet `emptyDirLimitEviction`, `podEphemeralStorageLimitEviction`, `containerEphemeralStorageLimitEviction`.
 *
 * @param volumeBytes the usage of emptyDir volumes, by name
 */
export function localStorageExcess(
  pod: Pod,
  stats: PodStats | undefined,
  volumeBytes: ReadonlyMap<string, number>,
): string | undefined {
  for (const { name, sizeLimit } of limitedVolumes(pod))
    if (exceeds(volumeBytes.get(name), sizeLimit))
      return `Usage of EmptyDir volume ${JSON.stringify(name)} exceeds the limit ${JSON.stringify(sizeLimit)}. `;

  const podLimit = podStatusResources(pod.spec ?? {}).resources.limits?.[resource];
  const volumes = [...volumeBytes.values()].reduce((sum, bytes) => sum + bytes, 0);
  if (podLimit !== undefined && exceeds((stats?.[resource]?.usedBytes ?? 0) + volumes, podLimit))
    return `Pod ephemeral local storage usage exceeds the total limit of containers ${podLimit}. `;

  for (const { name, limit } of limitedContainers(pod)) {
    const { logs, rootfs } = stats?.containers.find((container) => container.name === name) ?? {};
    if (exceeds((logs?.usedBytes ?? 0) + (rootfs?.usedBytes ?? 0), limit))
      return `Container ${name} exceeded its local ephemeral storage limit ${JSON.stringify(limit)}. `;
  }
  return undefined;
}

function limitedContainers({ spec }: Pod): { name: string; limit: string }[] {
  const containers: Container[] = [
    ...(spec?.containers ?? []),
    ...(spec?.initContainers ?? []).filter(isRestartableInitContainer),
  ];
  return containers.flatMap(({ name, resources }) => {
    const limit = resources?.limits?.[resource];
    return limit != null && quantityValue(limit) !== 0 ? [{ name: name ?? '', limit }] : [];
  });
}

/** A volume in memory has its limit in the kernel. */
function limitedVolumes(pod: Pod): { name: string; sizeLimit: string }[] {
  return volumesOf(pod).flatMap(({ name, emptyDir }) => {
    const sizeLimit = emptyDir?.medium === 'Memory' ? undefined : emptyDir?.sizeLimit;
    return sizeLimit != null && (quantityValue(sizeLimit) ?? 0) > 0 ? [{ name, sizeLimit }] : [];
  });
}

function exceeds(bytes: number | undefined, limit: string): boolean {
  return bytes !== undefined && (compareQuantities(String(bytes), limit) ?? 0) > 0;
}
