import { listAt, objectAt, DecodeContext, requiredStringAt } from '../status/canonical-reader.ts';
import { isObject, type Raw } from '../../shared/json.ts';
import { resourceRequirements } from '../status/status-fields.ts';
import type { Pod, ResourceRequirements } from '../../kube/objects/types.ts';

/** The allocation of one pod; null where nothing was specified. Frozen, with canonical quantities. */
export interface PodAllocation {
  readonly containerResources: ReadonlyMap<string, ResourceRequirements> | null;
  readonly podLevelResources: ResourceRequirements | null;
  /** Volume name → quantity. Only preserved between reading and writing a checkpoint. */
  readonly emptyDirVolumeLimits: ReadonlyMap<string, string | null> | null;
}

const noResources: ResourceRequirements = Object.freeze({});

/**
 * The allocation that the pod's spec requests. Throws a StatusManagerError (`INVALID_ARGUMENT`) with
 * the path of an invalid name, object or quantity.
 * Source: kubelet `ResourceInfoForPod`.
 */
export function allocationFromPod(pod: Pod): { podUID: string; allocation: PodAllocation } {
  const context = new DecodeContext(true, 'pod');
  const raw: unknown = pod;
  if (!isObject(raw)) return context.refuse('', 'an object', raw);

  const podUID = objectAt(raw.metadata ?? {}, 'metadata', context, ({ uid }) => requiredStringAt(uid, 'uid', context))!;
  const allocation = objectAt(raw.spec ?? {}, 'spec', context, allocationFromSpec)!;
  return { podUID, allocation };
}

function allocationFromSpec(spec: Raw, context: DecodeContext): PodAllocation {
  const containerResources = new Map<string, ResourceRequirements>();
  for (const list of ['initContainers', 'containers']) {
    listAt(spec[list], list, context, (container) => {
      const name = requiredStringAt(container.name, 'name', context);
      const resources = frozenResourcesAt(container.resources, 'resources', context) ?? noResources;
      containerResources.set(name, resources);
    });
  }
  return {
    containerResources,
    podLevelResources: frozenResourcesAt(spec.resources, 'resources', context) ?? null,
    emptyDirVolumeLimits: null,
  };
}

/** The resources at `field`, deeply frozen. */
export function frozenResourcesAt(
  ...where: Parameters<typeof resourceRequirements.read>
): ResourceRequirements | undefined {
  const resources = resourceRequirements.read(...where);
  if (resources === undefined) return undefined;
  for (const claim of resources.claims ?? []) Object.freeze(claim);
  for (const part of Object.values(resources)) Object.freeze(part);
  return Object.freeze(resources);
}
