import { resourcesAt } from '../status/canonical-container.ts';
import { listAt, objectAt, Place, requiredStringAt, stringAt } from '../status/canonical-reader.ts';
import { isObject, type Raw } from '../status/json.ts';
import type { Pod, ResourceRequirements } from '../types.ts';

/** What was granted to one pod; null where nothing was said. Frozen, quantities canonical. */
export interface PodAllocation {
  readonly containerResources: ReadonlyMap<string, ResourceRequirements> | null;
  readonly podLevelResources: ResourceRequirements | null;
  /** Quantity by name of volume. Only read from a checkpoint and written back. */
  readonly emptyDirVolumeLimits: ReadonlyMap<string, string | null> | null;
}

const noResources: ResourceRequirements = Object.freeze({});

/**
 * What the spec of the pod asks for. Throws a StatusManagerError (`INVALID_ARGUMENT`) with the
 * path of what is no name, object or quantity.
 * Source: kubelet `allocationFromPod`.
 */
export function allocationFromPod(pod: Pod): { podUID: string; allocation: PodAllocation } {
  const place = new Place(true, 'pod');
  const raw: unknown = pod;
  if (!isObject(raw)) return place.refuse('', 'an object', raw);

  const podUID = objectAt(raw.metadata ?? {}, 'metadata', place, ({ uid }) => requiredStringAt(uid, 'uid', place))!;
  const allocation = objectAt(raw.spec ?? {}, 'spec', place, allocationFromSpec)!;
  return { podUID, allocation };
}

function allocationFromSpec(spec: Raw, place: Place): PodAllocation {
  const containerResources = new Map<string, ResourceRequirements>();
  for (const list of ['initContainers', 'containers']) {
    listAt(spec[list], list, place, (container) => {
      const name = requiredStringAt(container.name, 'name', place);
      const resources = frozenResourcesAt(container.resources, 'resources', place) ?? noResources;
      // An init container that ends before the others start cannot be resized.
      const resizable = list === 'containers' || stringAt(container.restartPolicy, 'restartPolicy', place) === 'Always';
      if (resizable) containerResources.set(name, resources);
    });
  }
  return {
    containerResources,
    podLevelResources: frozenResourcesAt(spec.resources, 'resources', place) ?? null,
    emptyDirVolumeLimits: null,
  };
}

/** The resources at `member`, frozen all through. */
export function frozenResourcesAt(...where: Parameters<typeof resourcesAt>): ResourceRequirements | undefined {
  const resources = resourcesAt(...where);
  if (resources === undefined) return undefined;
  for (const claim of resources.claims ?? []) Object.freeze(claim);
  for (const part of Object.values(resources)) Object.freeze(part);
  return Object.freeze(resources);
}
