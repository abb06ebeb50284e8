import { compareQuantities } from '../../kube/objects/quantity.ts';
import { type ResizableResource, resizableResources } from '../../kube/pods/resizable-resources.ts';
import type { Container, Pod, ResourceRequirementsInput } from '../../kube/objects/types.ts';

type ResourceList = NonNullable<ResourceRequirementsInput['limits']>;

/**
 * The container's resources in the spec. A missing limit for cpu or memory is inherited from the pod.
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

/** The amount of the resource in the list; a missing one counts as zero. */
export function amountOf(list: ResourceList | null | undefined, name: ResizableResource): string {
  return list?.[name] ?? '0';
}

/** True if both have the same limits and requests of what can be resized. Source: kubelet `cpuMemoryResourcesEqual`. */
export function areAmountsEqual(
  a: ResourceRequirementsInput | null | undefined,
  b: ResourceRequirementsInput | null | undefined,
): boolean {
  return resizableResources.every(
    (name) =>
      compareAmounts(a?.limits?.[name], amountOf(b?.limits, name)) === 0 &&
      compareAmounts(a?.requests?.[name], amountOf(b?.requests, name)) === 0,
  );
}

/** Negative if the amount shrinks, 0 if it is equal, even in another format (`1` and `1000m`). */
export function compareAmounts(after: string | undefined, before: string): number {
  return compareQuantities(after ?? '0', before) ?? 0;
}
