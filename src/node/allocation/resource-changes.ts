import { containersOf } from '../../kube/pods/pod-containers.ts';
import { canonicalPodStatus } from '../../status-manager/status/canonical.ts';
import type { Pod } from '../../kube/objects/types.ts';
import { compareRequests } from './sort-pending-resizes.ts';
import { areResourcesEqual } from './updated-from-allocation.ts';

/** True when the specs request different resources for the pod or a container. Source: kubelet `recordResizeOperations`. */
export function wantsOtherResources(oldPod: Pod, pod: Pod): boolean {
  const resourcesOf = ({ spec }: Pod) => [spec?.resources, ...containersOf(spec).map(({ resources }) => resources)];
  const before = resourcesOf(oldPod);
  return resourcesOf(pod).some((resources, i) => !areResourcesEqual(resources, before[i]));
}

/** True when the containers now request less, according to the resources in their statuses. Source: kubelet `HandlePodReconcile`. */
export function doActualRequestsShrink(oldPod: Pod, pod: Pod): boolean {
  return compareRequests(withActualResources(pod), withActualResources(oldPod)).includes('less');
}

function withActualResources({ status }: Pod): Pod {
  const { containerStatuses, initContainerStatuses } = canonicalPodStatus(status, { strict: false });
  const containers = [...(containerStatuses ?? []), ...(initContainerStatuses ?? [])];
  return { spec: { containers: containers.map(({ name, resources }) => ({ name, resources })) } };
}
