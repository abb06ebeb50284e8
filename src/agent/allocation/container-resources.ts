import { compareQuantities, type Container, type Pod, type ResourceRequirementsInput } from '../../index.ts';

/** What can be changed while a container runs, in the order in which it is changed. */
export const resizableResources = ['memory', 'cpu'] as const;

/** Source: `v1.ResourceMemory`, `v1.ResourceCPU`. */
export type ResizableResource = (typeof resizableResources)[number];

type ResourceList = NonNullable<ResourceRequirementsInput['limits']>;

/**
 * What the spec gives the container: a limit for cpu or memory that it does not have is the pod's.
 * Source: kubelet `setActuatedContainerResources`, `GetLimits`.
 */
export function containerResources(
  { spec }: Pod,
  { resources }: Pick<Container, 'resources'>,
): ResourceRequirementsInput {
  const limits: Record<string, string> = { ...resources?.limits };
  for (const name of resizableResources) {
    const podLimit = amountOf(spec?.resources?.limits, name);
    if (compareAmounts(limits[name], '0') === 0 && compareAmounts(podLimit, '0') !== 0) limits[name] = podLimit;
  }
  return {
    ...(Object.keys(limits).length > 0 && { limits }),
    ...(resources?.requests != null && { requests: resources.requests }),
  };
}

/** What the list has of the resource; nothing counts as zero. */
export function amountOf(list: ResourceList | null | undefined, name: ResizableResource): string {
  return list?.[name] ?? '0';
}

/** How the amount changes: below 0 when it shrinks, 0 when it stays, also as another text (`1` and `1000m`). */
export function compareAmounts(after: string | undefined, before: string): number {
  return compareQuantities(after ?? '0', before) ?? 0;
}
