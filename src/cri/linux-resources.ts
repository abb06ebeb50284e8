import { binarySI, quantityValue } from '../kube/objects/quantity.ts';
import type { KubeObject } from '../kube/objects/kube-object.ts';
import type { Pod, ResourceRequirementsInput } from '../kube/objects/types.ts';
import { isRestartableInitContainer } from '../status-manager/status/container-restart.ts';
import { podRequests } from '../status-manager/status/pod-resources.ts';
import { computePodQOS } from '../status-manager/status/qos.ts';
import type { CRIMessage, CRIRequest } from './cri-messages.ts';
import { containerHugePageLimits } from './huge-pages.ts';

/** The properties of the machine that resources depend on. */
export interface MachineResources {
  readonly memoryBytes: number;
  readonly cpus: number;
  readonly hasCgroup2: boolean;
  /** Whether the swap of a cgroup can be limited. */
  readonly hasSwapController: boolean;
  /** `2MB` and so on. */
  readonly hugePageSizes: readonly string[];
  /** Folders of the CPUs that containers must not see. */
  readonly thermalThrottlePaths: readonly string[];
  /** Whether files need a label before a container may use them. */
  readonly hasSELinux: boolean;
}

const minShares = 2;
const maxShares = 262_144;
const sharesPerCPU = 1024;
const milliCPUPerCPU = 1000;
/** Microseconds. Source: kubelet `QuotaPeriod`. */
export const quotaPeriod = 100_000;
const minQuotaPeriod = 1000;

const guaranteedOOMScoreAdj = -997;
const besteffortOOMScoreAdj = 1000;

/** 0 when absent. */
function milliCPUOf(quantity: string | undefined): number {
  return quantityValue(quantity ?? 0, 'm') ?? 0;
}

/** 0 when absent. */
function bytesOf(quantity: string | undefined): number {
  return quantityValue(quantity ?? 0) ?? 0;
}

/** Source: kubelet `MilliCPUToShares`. */
export function milliCPUToShares(milliCPU: number): number {
  if (milliCPU === 0) return minShares;
  return Math.min(maxShares, Math.max(minShares, Math.trunc((milliCPU * sharesPerCPU) / milliCPUPerCPU)));
}

/** 0: unlimited. Source: kubelet `MilliCPUToQuota`. */
export function milliCPUToQuota(milliCPU: number): number {
  return milliCPU === 0 ? 0 : Math.max(minQuotaPeriod, Math.trunc((milliCPU * quotaPeriod) / milliCPUPerCPU));
}

/** The resources of a container with these requests and limits. Source: kubelet `generateLinuxContainerResources`. */
export function containerLinuxResources(
  pod: Pod,
  container: KubeObject<'Container'>,
  machine: MachineResources,
  resources: ResourceRequirementsInput = container.resources ?? {},
): CRIRequest<'LinuxContainerResources'> {
  const podLimits = pod.spec?.resources?.limits;
  const cpuLimit = resources.limits?.['cpu'] ?? podLimits?.['cpu'];
  const cpuRequest = resources.requests?.['cpu'] ?? cpuLimit;
  const memoryLimit = resources.limits?.['memory'] ?? podLimits?.['memory'];
  return {
    cpu_shares: milliCPUToShares(milliCPUOf(cpuRequest)),
    cpu_period: quotaPeriod,
    cpu_quota: milliCPUToQuota(milliCPUOf(cpuLimit)),
    memory_limit_in_bytes: bytesOf(memoryLimit),
    oom_score_adj: containerOOMScoreAdjust(pod, container, machine.memoryBytes, resources),
    hugepage_limits: containerHugePageLimits(pod, container, machine.hugePageSizes),
    ...(machine.hasCgroup2 && { unified: unifiedResources(machine) }),
  };
}

/** What containers have of cgroup v2 alone. With cgroup v1, the kernel kills one process, and runtimes prevent swap. */
function unifiedResources({ hasSwapController }: MachineResources): Readonly<Record<string, string>> {
  return {
    // Out of memory, all processes of the container are killed. kubelet: `singleProcessOOMKill`, which is false by default.
    'memory.oom.group': '1',
    ...(hasSwapController && { 'memory.swap.max': '0' }),
    // The kubelet's `memoryReservationPolicy` is None, and without `memoryThrottlingFactor` it does not set memory.high.
    'memory.min': '0',
    'memory.low': '0',
  };
}

/** What the sandbox itself needs; of it, requests and limits are the same. Source: kubelet `convertOverheadToLinuxResources`. */
export function overheadLinuxResources({ spec }: Pod): CRIRequest<'LinuxContainerResources'> {
  const cpu = milliCPUOf(spec?.overhead?.['cpu']);
  return {
    cpu_shares: milliCPUToShares(cpu),
    cpu_period: quotaPeriod,
    cpu_quota: milliCPUToQuota(cpu),
    memory_limit_in_bytes: bytesOf(spec?.overhead?.['memory']),
  };
}

/**
 * The resources of all containers of a pod; a VM-based runtime sizes its virtual machines with them. Source: kubelet
 * `calculateSandboxResources`.
 */
export function sandboxLinuxResources({ spec }: Pod): CRIRequest<'LinuxContainerResources'> {
  const containers = [...(spec?.containers ?? []), ...(spec?.initContainers ?? []).filter(isRestartableInitContainer)];
  const sum = (
    quantities: readonly (string | undefined)[],
    valueOf: (quantity: string | undefined) => number,
  ): number => quantities.reduce((total, quantity) => total + valueOf(quantity), 0);
  const cpuLimits = containers.map(({ resources }) => resources?.limits?.['cpu']);
  const cpuRequests = containers.map(({ resources }, i) => resources?.requests?.['cpu'] ?? cpuLimits[i]);
  const memoryLimits = containers.map(({ resources }) => resources?.limits?.['memory']);
  return {
    cpu_shares: milliCPUToShares(sum(cpuRequests, milliCPUOf)),
    cpu_period: quotaPeriod,
    cpu_quota: milliCPUToQuota(sum(cpuLimits, milliCPUOf)),
    memory_limit_in_bytes: sum(memoryLimits, bytesOf),
  };
}

/** Source: kubelet `IsNodeCriticalPod`. */
function isNodeCriticalPod({ spec }: Pod): boolean {
  return spec?.priorityClassName === 'system-node-critical';
}

/** Source: kubelet `GetContainerOOMScoreAdjust`. */
export function containerOOMScoreAdjust(
  pod: Pod,
  container: KubeObject<'Container'>,
  memoryBytes: number,
  resources: ResourceRequirementsInput = container.resources ?? {},
): number {
  if (isNodeCriticalPod(pod)) return guaranteedOOMScoreAdj;
  const qos = computePodQOS(pod);
  if (qos === 'Guaranteed') return guaranteedOOMScoreAdj;
  if (qos === 'BestEffort') return besteffortOOMScoreAdj;
  const adjust = (requested: number): number =>
    besteffortOOMScoreAdj - Math.trunc((besteffortOOMScoreAdj * requested) / memoryBytes);
  const share = remainingPodMemoryRequest(pod);
  let result = adjust(bytesOf(resources.requests?.['memory']) + share);
  const isSidecar =
    isRestartableInitContainer(container) && pod.spec?.initContainers?.some(({ name }) => name === container.name);
  if (isSidecar === true) {
    const requests = (pod.spec?.containers ?? []).map((main) => bytesOf(main.resources?.requests?.['memory']));
    result = Math.min(result, adjust(Math.min(...requests) + share));
  }
  // Burstable stays between the other two classes.
  return Math.min(besteffortOOMScoreAdj - 1, Math.max(1000 + guaranteedOOMScoreAdj, result));
}

/**
 * The bytes that each container gets of the pod-level request that no container requests. Source: kubelet
 * `remainingPodMemReqPerContainer`.
 */
function remainingPodMemoryRequest({ spec }: Pod): number {
  const { containers, initContainers } = spec ?? {};
  const ofContainers = bytesOf(podRequests({ spec: { containers, initContainers } })['memory']);
  const remaining = Math.max(0, bytesOf(spec?.resources?.requests?.['memory']) - ofContainers);
  return remaining === 0 ? 0 : Math.trunc(remaining / ((containers ?? []).length + (initContainers ?? []).length));
}

/**
 * The resources that a running container or pod has, as quantities. Source: kubelet `toKubeContainerResources`,
 * `CPURequestsFromConfig`, `CPULimitsFromConfig`, `MemoryLimitsFromConfig`.
 */
export function resourcesFromStatus({
  cpu_shares: shares,
  cpu_quota: quota,
  cpu_period: period,
  memory_limit_in_bytes: memoryLimit,
}: Pick<
  CRIMessage<'LinuxContainerResources'>,
  'cpu_shares' | 'cpu_quota' | 'cpu_period' | 'memory_limit_in_bytes'
>): ResourceRequirementsInput {
  return {
    requests: shares > 0 ? { cpu: `${Math.ceil((shares * milliCPUPerCPU) / sharesPerCPU)}m` } : {},
    limits: {
      ...(quota > 0 && period > 0 && { cpu: `${Math.trunc((quota * milliCPUPerCPU) / period)}m` }),
      ...(memoryLimit > 0 && { memory: binarySI(memoryLimit) }),
    },
  };
}
