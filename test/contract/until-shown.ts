import type { Pod } from 'kubelet-status-manager';
import type { InformerPodManager } from 'kubelet-status-manager/informer';

/** Resolves when the informer shows a pod of this name that fits, mirror pods included; undefined: it is gone. */
export function untilShown(
  pods: InformerPodManager,
  name: string,
  fits: (pod: Pod | undefined) => boolean,
): Promise<Pod> {
  let resolve: (pod: Pod) => void = () => {};
  const shown = new Promise<Pod>((resolveShown) => (resolve = resolveShown));
  const check = (pod: Pod, isRemoved = false): void => {
    if (pod.metadata?.name === name && fits(isRemoved ? undefined : pod)) resolve(pod);
  };
  const leave = pods.subscribe(
    { onPodAdded: check, onPodUpdated: (pod) => check(pod), onPodRemoved: (pod) => check(pod, true) },
    { includeMirrorPods: true },
  );
  return shown.finally(leave);
}

/** The pod runs and is ready. */
export function isReady(pod: Pod | undefined): boolean {
  return (
    pod?.status?.phase === 'Running' &&
    pod.status.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true
  );
}
