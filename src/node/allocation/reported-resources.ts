import { containersOf } from '../../kube/pods/pod-containers.ts';
import { firstBy } from '../../shared/by-field.ts';
import type {
  Container,
  ContainerStatusInput,
  Pod,
  PodSpec,
  PodStatusInput,
  ResourceRequirementsInput,
  ValidPod,
} from '../../kube/objects/types.ts';
import pick from 'lodash/pick.js';
import pickBy from 'lodash/pickBy.js';
import { podStatusResources } from '../../status-manager/status/pod-resources.ts';
import { resizableResources } from '../../kube/pods/resizable-resources.ts';
import { compareAmounts } from './container-resources.ts';

type ResourceList = NonNullable<ResourceRequirementsInput['limits']>;
type ReportedList = { readonly [name: string]: string | null | undefined } | null | undefined;

/**
 * The pod with the resources that an earlier agent allocated, according to the pod's status: `allocatedResources`, and the
 * limits in `resources`. For an agent without a record of them; the same object if they are those of the spec.
 *
 * Divergence: the kubelet relies on its checkpoint. Without it, it would allocate a resize that was deferred, and fail the
 * running pod.
 */
export function allocatedFromStatus(pod: ValidPod, status: PodStatusInput | undefined): ValidPod {
  const { spec } = pod;
  if (spec === undefined || status == null || !isResizePending(pod, status)) return pod;
  const statusByName = statusesOf(status);
  const withReported = (container: Container): Container => {
    const reported = statusByName.get(container.name);
    if (reported?.resources == null) return container;
    return { ...container, resources: reportedResources(container.resources, reported, reported.allocatedResources) };
  };
  return {
    ...pod,
    spec: {
      ...spec,
      ...(spec.resources != null && { resources: reportedPodResources(spec.resources, status) }),
      ...(spec.initContainers && { initContainers: spec.initContainers.map(withReported) }),
      ...(spec.containers && { containers: spec.containers.map(withReported) }),
    },
  };
}

/**
 * The resources that a running pod still has according to its status, if they differ from the allocated ones in its spec;
 * otherwise undefined. For an agent without a record of them.
 */
export function actuatedPodFromStatus(
  { spec }: Pod,
  status: PodStatusInput | undefined,
): ResourceRequirementsInput | undefined {
  if (status?.phase !== 'Running' || spec?.resources == null) return undefined;
  const isResizing = hasCondition(status, 'PodResizeInProgress') || isPodResized(spec, status);
  return isResizing ? reportedPodResources(spec.resources, status) : undefined;
}

/** Like `actuatedPodFromStatus`, for a running container. */
export function actuatedContainerFromStatus(
  { name, resources }: Container,
  status: PodStatusInput | undefined,
): ResourceRequirementsInput | undefined {
  if (status === undefined) return undefined;
  const reported = statusesOf(status).get(name);
  if (reported?.state?.running == null || reported.resources == null) return undefined;
  const isResizing =
    hasCondition(status, 'PodResizeInProgress') ||
    !hasAmounts(reported.allocatedResources, resources?.requests) ||
    !hasAmounts(reported.resources.limits, resources?.limits);
  return isResizing ? reportedResources(resources, reported, reported.resources.requests) : undefined;
}

/** True if the spec requests other resources than were allocated. */
function isResizePending({ spec }: Pod, status: PodStatusInput): boolean {
  if (hasCondition(status, 'PodResizePending')) return true;
  const statusByName = statusesOf(status);
  return (
    (spec?.resources != null && isPodResized(spec, status)) ||
    containersOf(spec).some(({ name, resources }) => {
      const reported = statusByName.get(name);
      return reported?.resources != null && !hasAmounts(reported.allocatedResources, resources?.requests);
    })
  );
}

/** The pod's own resources are aggregated in its status, with those of its containers. */
function isPodResized(spec: PodSpec, { allocatedResources }: PodStatusInput): boolean {
  return allocatedResources != null && !hasAmounts(allocatedResources, podStatusResources(spec).allocatedResources);
}

function reportedPodResources(resources: ResourceRequirementsInput, status: PodStatusInput): ResourceRequirementsInput {
  const reportedOf = (kind: 'limits' | 'requests'): ResourceList => {
    const names = resizableResources.filter((name) => resources[kind]?.[name] !== undefined);
    return { ...resources[kind], ...pickBy(pick(status.resources?.[kind], names), (amount) => amount != null) };
  };
  return { ...resources, limits: reportedOf('limits'), requests: reportedOf('requests') };
}

/** `resources` with the reported amounts of what can be resized. */
function reportedResources(
  resources: ResourceRequirementsInput | null | undefined,
  reported: Pick<ContainerStatusInput, 'resources'>,
  requests: ReportedList,
): ResourceRequirementsInput {
  return {
    ...resources,
    requests: withAmounts(resources?.requests, requests),
    limits: withAmounts(resources?.limits, reported.resources?.limits),
  };
}

function withAmounts(list: ResourceRequirementsInput['limits'] | null, reported: ReportedList): ResourceList {
  const amounts: Record<string, string> = { ...list };
  for (const name of resizableResources) {
    const amount = reported?.[name];
    if (amount == null) delete amounts[name];
    else amounts[name] = amount;
  }
  return amounts;
}

function hasAmounts(reported: ReportedList, list: ResourceRequirementsInput['limits'] | null): boolean {
  return resizableResources.every((name) => compareAmounts(reported?.[name] ?? '0', list?.[name] ?? '0') === 0);
}

function statusesOf({
  containerStatuses,
  initContainerStatuses,
}: PodStatusInput): ReadonlyMap<unknown, ContainerStatusInput> {
  return firstBy([...(containerStatuses ?? []), ...(initContainerStatuses ?? [])], 'name');
}

function hasCondition({ conditions }: PodStatusInput, wanted: string): boolean {
  return conditions?.some(({ type, status: value }) => type === wanted && value === 'True') === true;
}
