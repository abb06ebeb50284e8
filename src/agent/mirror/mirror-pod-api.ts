import type { Pod, ValidPod } from '../../kube/objects/types.ts';
import type { PodReference } from '../../kube/client/pod-client.ts';
import type { APIRequests } from '../../kube/client/api-requests.ts';

/** The requests that mirror pods need. Each rejects with an `APIError` unless the response is a 2xx. */
export interface MirrorPodAPI {
  /** POST; resolves with the created pod. */
  createPod(pod: ValidPod, signal: AbortSignal): Promise<Pod>;
  /** GET; rejects with an `APIError`, 404 when the pod does not exist. */
  getPod(pod: PodReference, signal: AbortSignal): Promise<Pod>;
  /** DELETE with grace period 0 and the UID as a precondition (409 if it differs). */
  deletePod(pod: PodReference, uid: string, signal: AbortSignal): Promise<void>;
}

/** Sends the requests through `transport`, for example a `KubeTransport`, as the node's user. */
export function createMirrorPodAPI(transport: APIRequests): MirrorPodAPI {
  const listPath = (namespace: string): string => `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`;
  const podPath = ({ namespace, name }: PodReference): string => `${listPath(namespace)}/${encodeURIComponent(name)}`;
  return {
    async createPod(pod, signal) {
      const response = await transport.request('POST', listPath(pod.metadata.namespace), { body: pod, signal });
      return response.json() as Pod;
    },
    async getPod(pod, signal) {
      const response = await transport.request('GET', podPath(pod), { signal });
      return response.json() as Pod;
    },
    async deletePod(pod, uid, signal) {
      const body = { kind: 'DeleteOptions', apiVersion: 'v1', gracePeriodSeconds: 0, preconditions: { uid } };
      await transport.request('DELETE', podPath(pod), { body, signal });
    },
  };
}
