import { quantityValue } from '../../kube/objects/quantity.ts';
import type { ValidPod } from '../../kube/objects/types.ts';
import { podRequests } from '../../status-manager/status/pod-resources.ts';
import { podInodes, podStorageBytes, type PodUsage, type StoragePart } from './pod-usage.ts';
import type { EvictionSignal, StarvedResource } from './thresholds.ts';

type UsageOf = (pod: ValidPod) => PodUsage | undefined;

/**
 * The pods in the order in which they are evicted: those that exceed their requests, then by priority, then by their usage
 * above the requests. A pod of unknown usage comes first. Source: kubelet `rankMemoryPressure`, `rankDiskPressureFunc`,
 * `rankPIDPressure`.
 */
export function rankPods(
  pods: readonly ValidPod[],
  usageOf: UsageOf,
  measure: { readonly resource: StarvedResource; readonly parts: readonly StoragePart[] },
): ValidPod[] {
  const ranked = pods.map((pod) => {
    const usage = usageOf(pod);
    const used = usage && amountUsed(usage, measure);
    const requested = quantityValue(podRequests(pod)[measure.resource] ?? 0) ?? 0;
    return {
      pod,
      // The kubelet ranks by processes only within a priority.
      exceeds: measure.resource === 'pids' ? 0 : Number(used === undefined || used > requested),
      priority: pod.spec?.priority ?? 0,
      excess: used === undefined ? Number.POSITIVE_INFINITY : used - requested,
    };
  });
  return (
    ranked
      // The difference of two infinite numbers is NaN, which sorts like 0.
      .toSorted((a, b) => b.exceeds - a.exceeds || a.priority - b.priority || b.excess - a.excess)
      .map(({ pod }) => pod)
  );
}

/** Which parts of a pod's storage are on the file system of a signal. Source: kubelet `buildSignalToRankFunc`. */
export function storageParts(signal: EvictionSignal, hasDedicatedImageFs: boolean): readonly StoragePart[] {
  if (!hasDedicatedImageFs) return ['rootfs', 'logs', 'volumes'];
  return signal.startsWith('imagefs.') ? ['rootfs'] : ['logs', 'volumes'];
}

function amountUsed(
  usage: PodUsage,
  { resource, parts }: { readonly resource: StarvedResource; readonly parts: readonly StoragePart[] },
): number | undefined {
  if (resource === 'memory') return usage.stats?.memory?.workingSetBytes;
  if (resource === 'pids') return usage.stats?.process_stats?.process_count ?? 0;
  return resource === 'inodes' ? podInodes(usage, parts) : podStorageBytes(usage, parts);
}
