import { requireObject } from '../../shared/errors.ts';
import type { Pod, ResourceRequirementsInput } from '../../kube/objects/types.ts';
import { isSupportedPodLevelResource } from './pod-resources.ts';
import { quantityNanos } from '../../kube/objects/quantity.ts';

/** The QoS class of a pod. Source: `v1.PodQOSClass`. */
export type PodQOSClass = 'Guaranteed' | 'Burstable' | 'BestEffort';

/** Amounts above zero, in billionths, by the name of a resource that counts for QoS. */
type Amounts = Map<string, bigint>;

const qosResources: readonly string[] = ['cpu', 'memory'];

/**
 * The QoS class that the API server gives a pod with this spec: from the pod-level resources if it has
 * any, otherwise from the sums over its containers and init containers. Only `cpu` and `memory` above
 * zero count; an invalid quantity counts as zero. Source: kubelet `ComputePodQOS`.
 */
export function computePodQOS(pod: Pod): PodQOSClass {
  requireObject('pod', pod);
  const spec = pod.spec ?? {};
  const holders: readonly (ResourceRequirementsInput | null | undefined)[] = isPodLevelResourcesSet(spec.resources)
    ? [spec.resources]
    : [...(spec.containers ?? []), ...(spec.initContainers ?? [])].map(({ resources }) => resources);

  const requests: Amounts = new Map();
  const limits: Amounts = new Map();
  let isFullyLimited = true;
  for (const resources of holders) {
    add(requests, resources?.requests);
    const limited = add(limits, resources?.limits);
    if (limited < qosResources.length) isFullyLimited = false;
  }
  if (requests.size === 0 && limits.size === 0) return 'BestEffort';
  const isGuaranteed =
    isFullyLimited &&
    requests.size === limits.size &&
    [...requests].every(([name, amount]) => limits.get(name) === amount);
  return isGuaranteed ? 'Guaranteed' : 'Burstable';
}

/** An empty object counts as not set. Source: component-helpers `IsPodLevelResourcesSet`. */
function isPodLevelResourcesSet(resources: ResourceRequirementsInput | null | undefined): boolean {
  const names = [...Object.keys(resources?.requests ?? {}), ...Object.keys(resources?.limits ?? {})];
  return names.some(isSupportedPodLevelResource);
}

/** Adds the amounts that count to `sums`. @returns their number */
function add(sums: Amounts, resources: ResourceRequirementsInput['limits'] | null): number {
  let added = 0;
  for (const name of qosResources) {
    const quantity = resources != null && Object.hasOwn(resources, name) ? resources[name] : undefined;
    const amount = quantity == null ? 0n : (quantityNanos(quantity) ?? 0n);
    if (amount <= 0n) continue;
    sums.set(name, (sums.get(name) ?? 0n) + amount);
    added++;
  }
  return added;
}
