import { isObject } from '../../shared/json.ts';
import type { Pod } from '../objects/types.ts';
import { APIError } from '../client/api-error.ts';
import { signalOf } from '../client/lazy-signal-options.ts';
import type { ClosablePodClient, RequestOptions } from '../client/pod-client.ts';
import { maxPodBytes } from '../client/response-body.ts';
import { podPath } from './api-path.ts';
import type { KubeConfigSource } from './kube-config-types.ts';
import type { KubeTransport } from './kube-transport.ts';
import { createKubeTransport } from './transport.ts';
import type { KubeTransportOptions } from './transport-options.ts';

/** A `PodClient` over this package's own transport, which an informer or an agent may use as well. */
export interface HTTPPodClient extends ClosablePodClient {
  readonly transport: KubeTransport;
  /** Closes idle connections. To end the requests in flight as well: `transport.close()`. */
  close(): Promise<void>;
}

/**
 * Requests and responses are raw JSON over shared keep-alive connections: no field is lost and no
 * time is converted. Rejects with `APIError`, or for a name that no pod can have with
 * `StatusManagerError` INVALID_ARGUMENT.
 * @throws {StatusManagerError} INVALID_ARGUMENT for a kubeconfig that cannot be used, INVALID_OPTION for an option.
 *
 * @example
 * ```ts
 * import { readFile } from 'node:fs/promises';
 * import { createPodClient } from 'kubelet-status-manager/http';
 * import { parse } from 'yaml';
 *
 * const client = createPodClient(parse(await readFile('kubeconfig', 'utf8')));
 * // new StatusManager({ client, … })
 * await client.close();
 * ```
 */
export function createPodClient(kubeConfig: KubeConfigSource, options: KubeTransportOptions = {}): HTTPPodClient {
  return podClientOf(createKubeTransport(kubeConfig, options));
}

export function podClientOf(transport: KubeTransport): HTTPPodClient {
  const request = async (
    method: string,
    path: string,
    options: RequestOptions,
    body?: unknown,
    contentType?: string,
  ): Promise<unknown> => {
    const { onQueued, onStarted } = options;
    const signal = signalOf(options);
    const response = await transport.request(method, path, {
      body,
      contentType,
      signal,
      onQueued,
      onStarted,
      maxResponseBytes: maxPodBytes,
    });
    return response.json();
  };
  return {
    transport,
    get lastSuccessAgeMs() {
      return transport.lastSuccessAgeMs;
    },
    getPod: async ({ namespace, name }, options) => asPod(await request('GET', podPath(namespace, name), options)),
    patchPodStatus: async ({ namespace, name }, { type, body }, options) =>
      asPod(await request('PATCH', `${podPath(namespace, name)}/status`, options, body, type)),
    async deletePod({ namespace, name }, { uid, gracePeriodSeconds }, options) {
      const body = { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds, preconditions: { uid } };
      await request('DELETE', podPath(namespace, name), options, body);
    },
    close: () => transport.closeIdle(),
  };
}

function asPod(response: unknown): Pod {
  if (isObject(response) && response['kind'] === 'Pod' && isObject(response['metadata'])) return response;
  throw new APIError('the response is not a pod', { kind: 'invalid-response' });
}
