import { compareQuantities } from '../../kube/quantity.ts';
import type { ContainerStatusInput, ResourceRequirementsInput } from '../../kube/types.ts';
import type { RuntimeContainerStatus } from '../runtime/runtime-pod-status.ts';

type ResourceList = ResourceRequirementsInput['limits'];
type Resources = NonNullable<ContainerStatusInput['resources']>;

/** The resources that can be changed while a container is running. */
const resizableResources = ['cpu', 'memory'] as const;

/**
 * Below these minimums, the kernel gives a container more than it was allocated, so the runtime's value
 * is not used. Source: kubelet `cm.MinMilliCPULimit`, `cm.MinShares`.
 */
const minEffectiveCPU = { limits: '10m', requests: '2m' } as const;

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

function actualResources(
  kind: 'limits' | 'requests',
  allocated: NonNullable<ResourceList>,
  reported: ResourceList,
  before: Resources['limits'],
): NonNullable<ResourceList> {
  const resources: Record<string, string> = { ...allocated };
  for (const name of resizableResources) {
    const quantity = reported?.[name];
    if (quantity === undefined) {
      const earlier = before?.[name];
      if (earlier != null) resources[name] = earlier;
    } else if (
      name === 'memory' ||
      exceeds(quantity, minEffectiveCPU[kind]) ||
      exceeds(allocated[name], minEffectiveCPU[kind])
    ) {
      resources[name] = quantity;
    }
  }
  return resources;
}

function exceeds(quantity: string | undefined, minimum: string): boolean {
  return (compareQuantities(quantity ?? '0', minimum) ?? 1) > 0;
}
