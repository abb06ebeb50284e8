import { compareQuantities, type ContainerStatusInput, type ResourceRequirementsInput } from '../../index.ts';
import type { RuntimeContainerStatus } from '../runtime/runtime-pod-status.ts';

type ResourceList = ResourceRequirementsInput['limits'];
type Resources = NonNullable<ContainerStatusInput['resources']>;

/** What can be changed while a container runs. */
const resizableResources = ['cpu', 'memory'] as const;

/**
 * Below these, the kernel gives a container more than it was allocated, so that what the runtime
 * reports says nothing. Source: kubelet `cm.MinMilliCPULimit`, `cm.MinShares`.
 */
const minEffectiveCPU = { limits: '10m', requests: '2m' } as const;

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
