import { isMirrorPod, isStaticPod } from '../../kube/static-pods.ts';
import type { Pod } from '../../kube/types.ts';

/** Source: `scheduling.SystemCriticalPriority`. */
const systemCriticalPriority = 2_000_000_000;

/** True for static pods, mirror pods, and pods with a system-critical priority. Source: kubelet `types.IsCriticalPod`. */
export function isCriticalPod(pod: Pod): boolean {
  return isStaticPod(pod) || isMirrorPod(pod) || (pod.spec?.priority ?? 0) >= systemCriticalPriority;
}
