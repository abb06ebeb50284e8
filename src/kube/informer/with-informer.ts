import type { BasicPodManager } from '../pod-manager/basic-pod-manager.ts';
import type { PodManager } from '../pod-manager/pod-manager.ts';

/** `podManager`, which somebody else fills, with what only the informer knows: its state, and which pods are gone. */
export function withInformer(
  podManager: BasicPodManager,
  informer: Required<Pick<PodManager, 'informerState' | 'isGone'>>,
): BasicPodManager {
  return Object.assign(podManager, {
    informerState: () => informer.informerState(),
    isGone: (uid: string) => informer.isGone(uid),
  });
}
