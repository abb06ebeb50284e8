import type { BasicPodManager } from '../pod-manager/basic-pod-manager.ts';
import type { APIRequests } from '../client/api-requests.ts';
import type { PodManager } from '../pod-manager/pod-manager.ts';

/** Adds the informer's state, and its knowledge of deleted pods, to a pod manager that another component fills. */
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

/** The same requests; tells the informer about each success. */
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
