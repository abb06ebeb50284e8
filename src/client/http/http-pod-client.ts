import { isObject } from '../../status/json.ts';
import type { Pod } from '../../types.ts';
import { ApiError } from '../api-error.ts';
import type { PodClient } from '../pod-client.ts';
import { podPath } from './api-path.ts';
import type { KubeConfigSource } from './kube-config-types.ts';
import type { KubeTransport } from './kube-transport.ts';
import { createKubeTransport } from './transport.ts';
import type { KubeTransportOptions } from './transport-options.ts';

/** etcd refuses objects above 1.5 MiB; as JSON they can be longer. */
const maxResponseBytes = 16 * 1024 * 1024;

/** A `PodClient` over this package's own transport, which an informer or an agent may use as well. */
export interface HttpPodClient extends Required<PodClient> {
  readonly transport: KubeTransport;
  /** Closes idle connections. To end the requests in flight as well: `transport.close()`. */
  close(): Promise<void>;
}

/**
 * Requests and responses are raw JSON over shared keep-alive connections: no field is lost and no
 * time is converted. Rejects with `ApiError`, or for a name that no pod can have with
 * `StatusManagerError` INVALID_ARGUMENT.
 * @throws {StatusManagerError} INVALID_ARGUMENT for a kubeconfig that cannot be used, INVALID_OPTION for an option.
 */
export function createPodClient(kubeConfig: KubeConfigSource, options: KubeTransportOptions = {}): HttpPodClient {
  const transport = createKubeTransport(kubeConfig, options);
  return {
    transport,
    async getPod({ namespace, name }, { signal }) {
      const response = await transport.request('GET', podPath(namespace, name), { signal, maxResponseBytes });
      return asPod(response.json());
    },
    async patchPodStatus({ namespace, name }, { type, body }, { signal }) {
      const response = await transport.request('PATCH', `${podPath(namespace, name)}/status`, {
        body,
        contentType: type,
        signal,
        maxResponseBytes,
      });
      return asPod(response.json());
    },
    async deletePod({ namespace, name }, { uid, gracePeriodSeconds }, { signal }) {
      const body = { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds, preconditions: { uid } };
      const response = await transport.request('DELETE', podPath(namespace, name), { body, signal, maxResponseBytes });
      response.json();
    },
    close: () => transport.closeIdle(),
  };
}

function asPod(response: unknown): Pod {
  if (isObject(response) && response['kind'] === 'Pod' && isObject(response['metadata'])) return response;
  throw new ApiError('the response is not a pod', { kind: 'invalid-response' });
}
