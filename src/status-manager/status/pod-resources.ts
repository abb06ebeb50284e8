import { requireObject } from '../../shared/errors.ts';
import type {
  Container,
  Pod,
  PodSpec,
  PodStatusInput,
  ResourceList,
  ResourceRequirements,
  ResourceRequirementsInput,
} from '../../kube/objects/types.ts';
import { actualResources } from './actual-resources.ts';
import { isRestartableInitContainer } from './container-restart.ts';
import { setOwn } from '../../shared/json.ts';
import { addParsedQuantities, formatQuantity, parseQuantity, type Quantity } from '../../kube/objects/quantity.ts';

type Quantities = Map<string, Quantity>;
type ResourceListInput = ResourceRequirementsInput['requests'] | null;

/** The two fields of a pod status that follow from the resources of the spec. */
interface PodStatusResources {
  readonly allocatedResources?: ResourceList;
  readonly resources: ResourceRequirements;
}

/**
 * The resources of the complete pod: the sum over its containers and sidecars, or what its init
 * containers need if that is more; pod-level cpu, memory and huge pages take precedence; plus the
 * overhead. Invalid quantities are omitted.
 * Source: kubelet `generateAPIPodStatus`, component-helpers `PodRequests`, `PodLimits`.
 */
export function podStatusResources(spec: PodSpec): PodStatusResources {
  const requests = toResourceList(aggregateRequests(spec));
  const limits = toResourceList(aggregateLimits(spec));
  return {
    ...(requests !== undefined && { allocatedResources: requests }),
    resources: { ...(limits !== undefined && { limits }), ...(requests !== undefined && { requests }) },
  };
}

/**
 * The resources of a running pod: the pod-level ones, and the memory that all its containers request, with the cpu and
 * the memory limit that the pod actually has; if those are not known, with those of the previous status, if it was
 * running then. Source: kubelet `convertToAPIPodLevelResourcesStatus`.
 */
export function actualPodResources(
  spec: PodSpec,
  actual: ResourceRequirementsInput,
  previous: PodStatusInput,
): ResourceRequirements {
  const before = previous.phase === 'Running' ? previous.resources : undefined;
  const memory = podStatusResources(spec).allocatedResources?.['memory'];
  const requests = actualResources(
    'requests',
    { ...(memory !== undefined && { memory }), ...spec.resources?.requests },
    { cpu: actual.requests?.['cpu'] },
    { cpu: before?.requests?.['cpu'] },
  );
  const limits = actualResources('limits', spec.resources?.limits ?? {}, actual.limits, before?.limits);
  return {
    ...(Object.keys(limits).length > 0 && { limits }),
    ...(Object.keys(requests).length > 0 && { requests }),
  };
}

/**
 * The pod's requests by resource name, in canonical format; empty if there are none. See
 * `podStatusResources`. Source: component-helpers `PodRequests`.
 * @throws StatusManagerError INVALID_ARGUMENT when `pod` is not an object
 */
export function podRequests(pod: Pod): ResourceList {
  requireObject('pod', pod);
  return toResourceList(aggregateRequests(pod.spec ?? {})) ?? {};
}

/**
 * True for a resource that may be requested at pod level. Source: component-helpers
 * `IsSupportedPodLevelResource`.
 */
export function isSupportedPodLevelResource(name: string): boolean {
  return name === 'cpu' || name === 'memory' || name.startsWith('hugepages-');
}

function aggregateRequests(spec: PodSpec): Quantities {
  const requests = aggregate(spec, 'requests');
  for (const [name, quantity] of quantitiesOf(spec.overhead)) add(requests, name, quantity);
  return requests;
}

/** The overhead raises the limits above zero. */
function aggregateLimits(spec: PodSpec): Quantities {
  const limits = aggregate(spec, 'limits');
  for (const [name, quantity] of quantitiesOf(spec.overhead))
    if ((limits.get(name)?.nanos ?? 0n) !== 0n) add(limits, name, quantity);
  return limits;
}

/** Source: component-helpers `AggregateContainerRequests`, `AggregateContainerLimits`, and the pod-level resources. */
function aggregate(spec: PodSpec, kind: 'requests' | 'limits'): Quantities {
  const listOf = ({ resources }: Container) => quantitiesOf(resources?.[kind]);
  const total: Quantities = new Map();
  for (const container of spec.containers ?? []) addAll(total, listOf(container));

  const sidecars: Quantities = new Map();
  const whileInitializing: Quantities = new Map();
  for (const container of spec.initContainers ?? []) {
    if (isRestartableInitContainer(container)) {
      addAll(total, listOf(container));
      addAll(sidecars, listOf(container));
      // The others have not changed since the last sidecar.
      for (const name of listOf(container).keys()) raise(whileInitializing, name, sidecars.get(name)!);
    } else {
      for (const [name, quantity] of listOf(container)) {
        const ofSidecars = sidecars.get(name);
        const together = ofSidecars === undefined ? quantity : addParsedQuantities(quantity, ofSidecars);
        raise(whileInitializing, name, together);
      }
    }
  }
  for (const [name, quantity] of whileInitializing) raise(total, name, quantity);

  for (const [name, quantity] of quantitiesOf(spec.resources?.[kind]))
    if (isSupportedPodLevelResource(name)) total.set(name, quantity);
  return total;
}

function quantitiesOf(list: ResourceListInput): Quantities {
  const quantities: Quantities = new Map();
  for (const [name, text] of Object.entries(list ?? {})) {
    const quantity = parseQuantity(text);
    if (quantity !== undefined) quantities.set(name, quantity);
  }
  return quantities;
}

function addAll(sums: Quantities, list: Quantities): void {
  for (const [name, quantity] of list) add(sums, name, quantity);
}

function add(sums: Quantities, name: string, quantity: Quantity): void {
  const sum = sums.get(name);
  sums.set(name, sum === undefined ? quantity : addParsedQuantities(sum, quantity));
}

function raise(maxima: Quantities, name: string, quantity: Quantity): void {
  const max = maxima.get(name);
  if (max === undefined || quantity.nanos > max.nanos) maxima.set(name, quantity);
}

function toResourceList(quantities: Quantities): ResourceList | undefined {
  if (quantities.size === 0) return undefined;
  const list: ResourceList = {};
  for (const [name, quantity] of quantities) setOwn(list, name, formatQuantity(quantity));
  return list;
}
