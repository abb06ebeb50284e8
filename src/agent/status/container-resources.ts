import type { ContainerStatusInput, ResourceRequirementsInput } from '../../index.ts';
import type { RuntimeContainerStatus } from '../runtime/runtime-pod-status.ts';

type ResourceList = ResourceRequirementsInput['limits'];
type Resources = NonNullable<ContainerStatusInput['resources']>;

/** Resources that a running container can be given more or less of. */
const resizableResources = ['cpu', 'memory'] as const;

/**
 * The resources that a container's status shows: those allocated to it by the spec; while it runs,
 * cpu and memory as the runtime reports them, or as the previous status had them for the same run.
 * Source: kubelet `convertContainerStatusResources`.
 */
export function containerStatusResources(
  allocated: ResourceRequirementsInput | undefined,
  container: RuntimeContainerStatus,
  previous: ContainerStatusInput | undefined,
): Resources {
  if (container.state !== 'running') return { ...allocated };
  const isSameRun = previous?.state?.running != null && previous.containerID === container.id;
  const before = isSameRun ? previous.resources : undefined;
  return {
    ...allocated,
    ...(allocated?.limits && {
      limits: actualResources(allocated.limits, container.resources?.limits, before?.limits),
    }),
    ...(allocated?.requests && {
      requests: actualResources(allocated.requests, container.resources?.requests, before?.requests),
    }),
  };
}

function actualResources(
  allocated: NonNullable<ResourceList>,
  reported: ResourceList,
  before: Resources['limits'],
): NonNullable<ResourceList> {
  const resources: Record<string, string> = { ...allocated };
  for (const name of resizableResources) {
    const quantity = reported?.[name] ?? before?.[name];
    if (quantity != null) resources[name] = quantity;
  }
  return resources;
}
