import sumBy from 'lodash/sumBy.js';
import { quantityValue } from '../kube/objects/quantity.ts';
import { requireName } from '../node/index.ts';
import type { ResourceRequirementsInput, ValidPod } from '../kube/objects/types.ts';
import { type Logger, reasonOf } from '../shared/logger.ts';
import { podRequests } from '../status-manager/status/pod-resources.ts';
import { computePodQOS } from '../status-manager/status/qos.ts';
import type { CgroupFileSystem } from './cgroup-files.ts';
import { type CgroupLimit, cpuWeight, sharesOfWeight, valueOf } from './cgroup-limits.ts';
import type { CgroupManager, CgroupName } from './cgroup-manager.ts';
import { type MachineResources, milliCPUToShares, resourcesFromStatus } from './linux-resources.ts';
import { type ResourceConfig, resourceConfigForPod } from './resource-config.ts';

export interface PodCgroupsOptions {
  readonly files: CgroupFileSystem;
  readonly manager: CgroupManager;
  /** The cgroup of all pods. */
  readonly root: CgroupName;
  readonly machine: Pick<MachineResources, 'cpus' | 'hugePageSizes'>;
  /** How many processes a pod may have. Default: no limit. */
  readonly podPidsLimit?: number | undefined;
  readonly logger: Logger;
}

/** The cgroups of pods. Source: kubelet `PodContainerManager`. */
export class PodCgroups {
  readonly #options: PodCgroupsOptions;
  /** UIDs of removed pods. */
  readonly #failedRemovals = new Set<string>();

  constructor(options: PodCgroupsOptions) {
    this.#options = options;
  }

  /**
   * Sets the cpu shares of the cgroups above the pods: the machine's for all pods, the sum of the requests for Burstable
   * ones, the minimum for BestEffort ones. Creates these cgroups if necessary. Rejects if that fails. Source: kubelet `UpdateCgroups`,
   * `enforceNodeAllocatableCgroups`.
   */
  async updateQOS(activePods: readonly ValidPod[]): Promise<void> {
    const { files, manager, root, machine } = this.#options;
    const burstable = activePods.filter((pod) => computePodQOS(pod) === 'Burstable');
    const requested = sumBy(burstable, (pod) => quantityValue(podRequests(pod)['cpu'] ?? 0, 'm') ?? 0);
    for (const [name, milliCPU] of [
      [root, machine.cpus * 1000],
      [[...root, 'burstable'], requested],
      [[...root, 'besteffort'], 0],
    ] as const) {
      // The root cgroup has no limits.
      if (name.length === 0) continue;
      const path = manager.path(name);
      if (!(await files.exists(path))) await manager.create(name);
      const cpuShares = milliCPUToShares(milliCPU);
      const { format, parse } = files.limits.cpuShares;
      const current = ifPresent(() => parse(files.read(path, files.limits.cpuShares)));
      if (current !== parse(format(cpuShares))) await manager.update(name, { cpuShares });
    }
  }

  /** The cgroup of a pod in the format that a runtime with the same driver expects. Source: kubelet `GetPodCgroupParent`. */
  parentOf(pod: ValidPod): string {
    return this.#options.manager.path(this.#nameOf(pod));
  }

  /**
   * Creates the cgroup of a pod, with its limits, unless it exists. Rejects if it cannot be created; a limit that cannot
   * be set is logged. Source: kubelet `EnsureExists`.
   */
  async ensureExists(pod: ValidPod): Promise<void> {
    const { files, manager, root, machine, podPidsLimit, logger } = this.#options;
    const name = this.#nameOf(pod);
    if (await files.exists(manager.path(name))) return;
    for (let depth = root.length; depth < name.length; depth++) {
      const parent = name.slice(0, depth);
      if (depth > 0 && !(await files.exists(manager.path(parent)))) await manager.create(parent);
    }
    await manager.create(name);
    const { namespace, name: podName, uid: podUID } = pod.metadata;
    try {
      await manager.update(name, { ...resourceConfigForPod(pod, machine.hugePageSizes), pidsLimit: podPidsLimit });
    } catch (error) {
      const reason = reasonOf(error);
      logger.error({ pod: `${namespace}/${podName}`, podUID, reason }, 'Failed to limit the pod cgroup');
    }
  }

  /**
   * Raises the limits of a pod's cgroup before its containers are resized, and lowers them after. A limit that was
   * removed from the pod stays. Rejects if the memory limit would be lowered below the usage, or if the runtime, which is
   * asked first, refuses a limit. Source: kubelet `doPodResizeAction`.
   *
   * Divergence: the limits of huge pages stay; the kubelet sets them to 0 with each other limit.
   *
   * @param updateSandbox called with all limits before one of them is set, and again with the earlier ones if that fails
   */
  async update(
    pod: ValidPod,
    step: 'before' | 'after',
    updateSandbox: (config: ResourceConfig) => Promise<void> = async () => {},
  ): Promise<void> {
    const { files, manager } = this.#options;
    const name = this.#nameOf(pod);
    const path = manager.path(name);
    const config = resourceConfigForPod(pod);
    let applied = { ...config, ...this.#configOf(path) };
    const limits = ['memory', 'cpuQuota', 'cpuShares'] as const;
    // Requests stay below limits at every moment.
    for (const limit of step === 'before' ? limits : limits.toReversed()) {
      const value = config[limit];
      if (value === undefined) continue;
      const { controller, format, parse } = files.limits[limit];
      const current = parse(files.read(path, files.limits[limit]));
      const desired = parse(format(value));
      if (step === 'before' && limit === 'memory' && desired < current) this.#requireAboveUsage(value, path);
      if (step === 'before' ? desired <= current : desired >= current) continue;
      const changed = { ...applied, [limit]: value };
      await updateSandbox(changed).catch((cause: unknown) => {
        const what = `UpdatePodSandboxResources (resource=${controller})`;
        throw new Error(`failed to notify runtime for ${what}; resize rejected: ${(cause as Error).message}`, {
          cause,
        });
      });
      try {
        await manager.update(name, { [limit]: value });
      } catch (error) {
        await updateSandbox(applied).catch(() => {});
        throw error;
      }
      applied = changed;
    }
  }

  /**
   * The request for cpu and the limits that the cgroup of a pod has; none if the cgroup is gone. cgroup v1 has a number
   * close to 2^63 for no memory limit. Source: kubelet `GetPodCgroupConfig`.
   */
  resources(pod: ValidPod): ResourceRequirementsInput {
    const { files, manager } = this.#options;
    const path = manager.path(this.#nameOf(pod));
    const { memory, cpuQuota, cpuShares } = files.limits;
    const cpu = ifPresent(() => {
      const [quota = '', period = files.read(path, { ...cpuQuota, file: 'cpu.cfs_period_us' })] = files
        .read(path, cpuQuota)
        .split(' ');
      return { shares: this.#read(path, cpuShares), quota: valueOf(cpuQuota, quota), period: Number(period) };
    });
    const resources = resourcesFromStatus({
      cpu_shares: cpu?.shares ?? 0,
      cpu_quota: cpu?.quota ?? 0,
      cpu_period: cpu?.period ?? 0,
      memory_limit_in_bytes: ifPresent(() => this.#read(path, memory)) ?? 0,
    });
    // A weight of cgroup v2 stands for several shares.
    const request = pod.spec?.resources?.requests?.['cpu'];
    const isAllocated =
      request !== undefined &&
      cpu?.shares === sharesOfWeight(Number(cpuWeight(milliCPUToShares(quantityValue(request, 'm') ?? 0))));
    return isAllocated ? { ...resources, requests: { cpu: request } } : resources;
  }

  /**
   * Kills the processes that are left in the cgroup of an ended pod, and removes it. Rejects while processes are ending.
   * Source: kubelet `Destroy`.
   */
  destroy(pod: ValidPod): Promise<void> {
    return this.#destroy(this.#nameOf(pod));
  }

  /**
   * Removes the cgroups of pods whose data is no longer needed, for example those of an earlier agent. Failures are logged, and
   * the next call tries again. Source: kubelet `cleanupOrphanedPodCgroups`.
   */
  async removeOrphans(shouldPodContentBeRemoved: (podUID: string) => boolean): Promise<void> {
    const { files, manager, root } = this.#options;
    for (const qos of [root, [...root, 'burstable'], [...root, 'besteffort']])
      for (const folder of await files.childrenOf(manager.path(qos))) {
        const component = manager.componentOf(folder);
        const podUID = /^pod(.+)$/.exec(component)?.[1];
        if (podUID === undefined || !shouldPodContentBeRemoved(podUID)) continue;
        await this.#destroy([...qos, component]).then(
          () => this.#failedRemovals.delete(podUID),
          (error: unknown) => this.#removalFailed(podUID, error),
        );
      }
  }

  async #destroy(name: CgroupName): Promise<void> {
    const { files, manager } = this.#options;
    const path = manager.path(name);
    if (!(await files.existsAnywhere(path))) return;
    await files.kill(path);
    await manager.destroy(name);
  }

  #removalFailed(podUID: string, error: unknown): void {
    const { logger } = this.#options;
    if (!this.#failedRemovals.has(podUID))
      logger.warn(
        { podUID, reason: reasonOf(error) },
        'Failed to remove the cgroup of a removed pod; it will be retried',
      );
    this.#failedRemovals.add(podUID);
  }

  /** Source: kubelet `GetPodContainerName`. */
  #nameOf(pod: ValidPod): CgroupName {
    const { root } = this.#options;
    const qos = computePodQOS(pod);
    return [...root, ...(qos === 'Guaranteed' ? [] : [qos.toLowerCase()]), `pod${requireName(pod.metadata.uid)}`];
  }

  #read(path: string, limit: CgroupLimit): number {
    return valueOf(limit, this.#options.files.read(path, limit));
  }

  /** Without a limit, the quota is -1, and memory is absent. */
  #configOf(path: string): Partial<ResourceConfig> {
    const { memory, cpuQuota, cpuShares } = this.#options.files.limits;
    const bytes = this.#read(path, memory);
    return {
      // cgroup v1 shows a number that is close to 2^63.
      memory: bytes > 0 && Number.isSafeInteger(bytes) ? bytes : undefined,
      cpuQuota: this.#read(path, cpuQuota),
      cpuShares: this.#read(path, cpuShares),
    };
  }

  /** Source: kubelet `validateMemoryResizeAction`. */
  #requireAboveUsage(limitBytes: number, path: string): void {
    const usageBytes = this.#options.files.memoryUsageBytes(path);
    if (usageBytes >= limitBytes)
      throw new Error(
        `cannot decrease memory limits: attempting to set pod memory limit (${limitBytes}) below current usage (${usageBytes})`,
      );
  }
}

function ifPresent<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    // ENODEV: the cgroup is removed while its file is open.
    if (['ENOENT', 'ENODEV'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}
