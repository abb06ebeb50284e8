import type { APIRequests } from '../../kube/client/api-requests.ts';
import type { KubeEvent, KubeEventPatch } from './kube-event.ts';

/** Where events are written to. Both reject with an `APIError`. Source: client-go `record.EventSink`. */
export interface EventClient {
  /** Resolves with the created Event. */
  create(event: KubeEvent, signal: AbortSignal): Promise<KubeEvent>;
  /** Like `create`, for an existing Event. */
  patch(event: KubeEvent, patch: KubeEventPatch, signal: AbortSignal): Promise<KubeEvent>;
}

/**
 * Writes events through `transport`, for example a `KubeTransport`.
 *
 * @example
 * ```ts
 * import { APIEventRecorder, createEventClient } from 'kubelet-status-manager/agent';
 * import { createPodClient } from 'kubelet-status-manager/http';
 *
 * const transport = createPodClient(kubeConfig).transport;
 * const recorder = new APIEventRecorder({ client: createEventClient(transport), nodeName, logger });
 * ```
 */
export function createEventClient(transport: APIRequests): EventClient {
  const pathOf = ({ metadata: { namespace } }: KubeEvent): string =>
    `/api/v1/namespaces/${encodeURIComponent(namespace)}/events`;
  return {
    async create(event, signal) {
      const response = await transport.request('POST', pathOf(event), { body: event, signal });
      return response.json() as KubeEvent;
    },
    async patch(event, patch, signal) {
      const path = `${pathOf(event)}/${encodeURIComponent(event.metadata.name)}`;
      const contentType = 'application/strategic-merge-patch+json';
      const response = await transport.request('PATCH', path, { body: patch, contentType, signal });
      return response.json() as KubeEvent;
    },
  };
}
