import type { BasicPodManager } from '../pod-manager/basic-pod-manager.ts';
import type { APIRequests } from '../client/api-requests.ts';
import type { PodManager } from '../pod-manager/pod-manager.ts';

/** `podManager`, which somebody else fills, with what only the informer knows: its state, and which pods are gone. */
export function withInformer(
  podManager: BasicPodManager,
  informer: Required<Pick<PodManager, 'informerState' | 'isGone' | 'requestSucceeded'>>,
): BasicPodManager {
  return Object.assign(podManager, {
    informerState: () => informer.informerState(),
    isGone: (uid: string) => informer.isGone(uid),
    requestSucceeded: () => informer.requestSucceeded(),
  });
}

/** `requests`, each success of which is told to the informer. */
export function tellingInformer(
  requests: APIRequests,
  informer: Required<Pick<PodManager, 'requestSucceeded'>>,
): APIRequests {
  return {
    ...requests,
    async request(...args) {
      const response = await requests.request(...args);
      informer.requestSucceeded();
      return response;
    },
  };
}
