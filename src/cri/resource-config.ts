import { containersOf } from '../kube/pods/pod-containers.ts';
import { quantityValue } from '../kube/objects/quantity.ts';
import type { Pod } from '../kube/objects/types.ts';
import { podStatusResources } from '../status-manager/status/pod-resources.ts';
import { computePodQOS } from '../status-manager/status/qos.ts';
import { hugePageLimits } from './huge-pages.ts';
import { milliCPUToQuota, milliCPUToShares } from './linux-resources.ts';

/** The limits of a cgroup; an absent one is not written. Source: kubelet `cm.ResourceConfig`. */
export interface ResourceConfig {
  readonly cpuShares: number;
  /** Microseconds in each period of 100 ms. */
  readonly cpuQuota?: number | undefined;
  /** Bytes. */
  readonly memory?: number | undefined;
  /** Processes. Not a resource of the pod: the node sets it. */
  readonly pidsLimit?: number | undefined;
  /** Bytes by size of the page: `2MB`. */
  readonly hugePageLimits?: Readonly<Record<string, number>> | undefined;
}

/**
 * The limits of the cgroup of a pod: those of all its containers together, or the pod-level ones. A Burstable pod has a
 * limit if all its containers have one, or the pod itself. Source: kubelet `ResourceConfigForPod`.
 *
 * Divergence: without the claims of `nodeAllocatableResourceClaimStatuses`.
 */
export function resourceConfigForPod(pod: Pod, hugePageSizes: readonly string[] = []): ResourceConfig {
  const spec = pod.spec ?? {};
  const { requests = {}, limits = {} } = podStatusResources(spec).resources;
  const qos = computePodQOS(pod);
  const hugePages = hugePageSizes.length > 0 && { hugePageLimits: hugePageLimits(requests, hugePageSizes) };
  if (qos === 'BestEffort') return { cpuShares: milliCPUToShares(0), ...hugePages };
  const containers = containersOf(spec);
  const isLimited = (name: 'cpu' | 'memory'): boolean =>
    qos === 'Guaranteed' ||
    isPositive(spec.resources?.limits?.[name]) ||
    containers.every(({ resources }) => isPositive(resources?.limits?.[name]));
  return {
    cpuShares: milliCPUToShares(quantityValue(requests['cpu'] ?? 0, 'm') ?? 0),
    ...(isLimited('cpu') && { cpuQuota: milliCPUToQuota(quantityValue(limits['cpu'] ?? 0, 'm') ?? 0) }),
    ...(isLimited('memory') && { memory: quantityValue(limits['memory'] ?? 0) ?? 0 }),
    ...hugePages,
  };
}

function isPositive(quantity: string | undefined): boolean {
  return (quantityValue(quantity ?? 0, 'm') ?? 0) > 0;
}
