import { quantityValue } from '../../kube/objects/quantity.ts';
import type { Container, Pod, PodStatusInput, ResourceList } from '../../kube/objects/types.ts';
import { podRequests } from '../../status-manager/status/pod-resources.ts';
import { canonicalPodStatus } from '../../status-manager/status/canonical.ts';
import type { Node } from '../registration/node-types.ts';
import type { PredicateFailure } from './predicate-failure.ts';

type Amounts = ReadonlyMap<string, number>;

/**
 * The resources that are insufficient on the Node for one more pod. `cpu` is counted in thousandths. Source: scheduler
 * `noderesources.Fits`.
 *
 * Divergence: pods, cpu, memory and ephemeral storage are unlimited when the Node does not list them; the kubelet's
 * Node always does.
 */
export function insufficientResources(pod: Pod, otherPods: readonly Pod[], node: Node): PredicateFailure[] {
  const allocatable = amountsOf(node.status?.allocatable ?? {});
  const failures: PredicateFailure[] = [];
  const check = (resource: string, requested: number, used: number): void => {
    const capacity = allocatable.get(resource) ?? (alwaysListed.has(resource) ? Infinity : 0);
    if (requested > capacity - used)
      failures.push({ kind: 'InsufficientResource', resource, requested, used, capacity });
  };
  check('pods', 1, otherPods.length);
  const requests = amountsOf(podRequests(withoutMissingExtendedResources(pod, allocatable)));
  // The first failure is the reason that the pod's status shows.
  const names = [...standardResources, ...[...requests.keys()].filter((name) => !alwaysListed.has(name))];
  const requested = names.filter((name) => isScheduled(name) && (requests.get(name) ?? 0) > 0);
  const used = requested.length === 0 ? [] : otherPods.map(usedAmounts);
  for (const name of requested) {
    check(
      name,
      requests.get(name)!,
      used.reduce((sum, amounts) => sum + (amounts.get(name) ?? 0), 0),
    );
  }
  return failures;
}

/** In the order in which the scheduler checks them, after the number of pods. */
const standardResources = ['cpu', 'memory', 'ephemeral-storage'];
const alwaysListed: ReadonlySet<string> = new Set([...standardResources, 'pods']);

/** What a pod requests of each resource, in thousandths for cpu. Source: component-helpers `GetResourceRequest`. */
export function requestedAmounts(pod: Pod): Amounts {
  return new Map([...amountsOf(podRequests(pod)), ['pods', 1]]);
}

/**
 * The requests of the pod, or its larger current resources while it is being resized down. Source: scheduler
 * `PodInfo.CalculateResource`.
 */
function usedAmounts(pod: Pod): Amounts {
  const amounts = new Map(amountsOf(podRequests(pod)));
  const { allocatedResources, resources }: PodStatusInput = pod.status ?? {};
  for (const list of [allocatedResources, resources?.requests])
    for (const [name, amount] of amountsOf((list ?? {}) as ResourceList))
      amounts.set(name, Math.max(amount, amounts.get(name) ?? 0));
  return amounts;
}

function amountsOf(list: ResourceList): Amounts {
  const valueOf = (name: string, quantity: string): number | undefined =>
    quantityValue(quantity, name === 'cpu' ? 'm' : '');
  return new Map(Object.entries(list).map(([name, quantity]) => [name, valueOf(name, quantity) ?? 0]));
}

/**
 * Removes requests for extended resources that the Node does not have: cluster-level resources, and resources that a
 * ResourceClaim provides. Source: kubelet `removeMissingExtendedResources`.
 */
export function withoutMissingExtendedResources(pod: Pod, allocatable: { has(resource: string): boolean }): Pod {
  const { extendedResourceClaimStatus } = pod.status ?? {};
  const { requestMappings } =
    canonicalPodStatus({ extendedResourceClaimStatus }, { strict: false }).extendedResourceClaimStatus ?? {};
  const claimed = new Set(requestMappings?.map((mapping) => `${mapping.containerName}/${mapping.resourceName}`));
  const isRemoved = (container: string, resource: string): boolean => {
    const isExtended = isExtendedResource(resource);
    const isClaimed = claimed.has(`${container}/${resource}`);
    if (isClaimed && (isExtended || resource.startsWith('deviceclass.resource.kubernetes.io/'))) return true;
    return isExtended && !allocatable.has(resource);
  };
  const filtered = (containers: readonly Container[] | undefined): Container[] | undefined =>
    containers?.map((container) => {
      const { requests } = container.resources ?? {};
      if (requests == null) return container;
      const kept = Object.entries(requests).filter(([resource]) => !isRemoved(container.name, resource));
      return { ...container, resources: { ...container.resources, requests: Object.fromEntries(kept) } };
    });
  const { containers, initContainers } = pod.spec ?? {};
  return { ...pod, spec: { ...pod.spec, containers: filtered(containers), initContainers: filtered(initContainers) } };
}

/** Source: `v1helper.IsExtendedResourceName`. */
function isExtendedResource(name: string): boolean {
  return name.includes('/') && !name.includes('kubernetes.io/') && !name.startsWith('requests.');
}

/** Source: scheduler `Resource.SetMaxResource`, `IsScalarResourceName`. */
function isScheduled(name: string): boolean {
  return (
    (alwaysListed.has(name) && name !== 'pods') || name.includes('/') || /^(hugepages-|attachable-volumes-)/.test(name)
  );
}
