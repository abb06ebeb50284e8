import type { ContainerStatusInput, ResourceRequirementsInput } from '../../kube/objects/types.ts';
import { actualResources } from '../../status-manager/status/actual-resources.ts';
import type { RuntimeContainerStatus } from '../runtime/runtime-pod-status.ts';

type Resources = NonNullable<ContainerStatusInput['resources']>;

/**
 * The resources in a container's status: those that the spec allocates. While it is running, cpu and
 * memory are those that the runtime reports, or else those of the previous status of the same run.
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
  const actual = (kind: 'limits' | 'requests'): ResourceRequirementsInput => {
    const list = allocated?.[kind];
    return list == null ? {} : { [kind]: actualResources(kind, list, container.resources?.[kind], before?.[kind]) };
  };
  return { ...allocated, ...actual('limits'), ...actual('requests') };
}
