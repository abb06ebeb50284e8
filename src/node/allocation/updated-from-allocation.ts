import type { AllocationState } from '../../status-manager/allocation/allocation-state.ts';
import type { Container, ResourceRequirementsInput, ValidPod } from '../../kube/objects/types.ts';
import { quantitiesEqual } from '../../kube/objects/quantity.ts';

/** A pod with its allocated resources. */
export interface AllocatedPod {
  /** The same object if nothing differs, otherwise a copy. */
  readonly pod: ValidPod;
  /** True when the spec differs from the allocation. */
  readonly updated: boolean;
}

type ResourceList = ResourceRequirementsInput['limits'] | null;

/** A pod without an allocation is returned unchanged. Source: kubelet `updatePodFromAllocation`. */
export function updatedFromAllocation(pod: ValidPod, state: AllocationState): AllocatedPod {
  const { uid } = pod.metadata;
  const { spec } = pod;
  if (spec === undefined || !isAllocated(pod, state)) return { pod, updated: false };

  let updated = false;
  const allocatedOr = (
    resources: ResourceRequirementsInput | null | undefined,
    allocated: ResourceRequirementsInput | undefined,
  ): ResourceRequirementsInput | undefined => {
    if (areResourcesEqual(resources, allocated)) return resources ?? undefined;
    updated = true;
    return allocated;
  };
  const withAllocation = (container: Container): Container => {
    const allocated = state.getContainerResourceAllocation(uid, container.name);
    if (allocated === undefined) return container;
    return { ...container, resources: allocatedOr(container.resources, allocated) };
  };
  const allocatedSpec = {
    ...spec,
    resources: allocatedOr(spec.resources, state.getPodLevelResourceAllocation(uid)),
    initContainers: spec.initContainers?.map(withAllocation),
    containers: spec.containers?.map(withAllocation),
  };
  return updated ? { pod: { ...pod, spec: allocatedSpec }, updated } : { pod, updated };
}

/** True when the pod has an allocation. Source: kubelet `HasPodAllocatedResources`. */
export function isAllocated({ metadata, spec }: ValidPod, state: AllocationState): boolean {
  const { uid } = metadata;
  return (spec?.containers ?? []).some(({ name }) => state.getContainerResourceAllocation(uid, name) !== undefined);
}

/** Source: apimachinery `Semantic.DeepEqual`. */
export function areResourcesEqual(
  a: ResourceRequirementsInput | null | undefined,
  b: ResourceRequirementsInput | null | undefined,
): boolean {
  return (
    areListsEqual(a?.limits, b?.limits) &&
    areListsEqual(a?.requests, b?.requests) &&
    ((a?.claims ?? b?.claims) === undefined || JSON.stringify(a?.claims ?? []) === JSON.stringify(b?.claims ?? []))
  );
}

function areListsEqual(a: ResourceList | undefined, b: ResourceList | undefined): boolean {
  const entries = Object.entries(a ?? {});
  return (
    entries.length === Object.keys(b ?? {}).length &&
    entries.every(([name, quantity]) => {
      const other = b?.[name];
      return other !== undefined && quantitiesEqual(quantity, other);
    })
  );
}
