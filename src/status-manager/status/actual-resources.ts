import { compareQuantities } from '../../kube/objects/quantity.ts';
import { resizableResources } from '../../kube/pods/resizable-resources.ts';
import type { ResourceRequirementsInput } from '../../kube/objects/types.ts';

type ResourceList = { readonly [resourceName: string]: string | null | undefined };

/**
 * Below these minimums, the kernel gives a container or pod more than it was allocated, so the actual value is not used.
 * Source: kubelet `cm.MinMilliCPULimit`, `cm.MinShares`.
 */
const minEffectiveCPU = { limits: '10m', requests: '2m' } as const;

/**
 * The allocated limits or requests, with the cpu and memory that a container or pod actually has; if those are not
 * known, with those of its previous status.
 */
export function actualResources(
  kind: 'limits' | 'requests',
  allocated: NonNullable<ResourceRequirementsInput['limits']>,
  actual: ResourceList | null | undefined,
  previous: ResourceList | null | undefined,
): Record<string, string> {
  const resources: Record<string, string> = { ...allocated };
  for (const name of resizableResources) {
    const quantity = actual?.[name];
    if (quantity == null) {
      const earlier = previous?.[name];
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
