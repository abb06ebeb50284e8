import { isObject } from '../../status/json.ts';
import type { Pod } from '../../types.ts';
import { ApiError } from '../api-error.ts';
import type { PodClient } from '../pod-client.ts';
import { podPath } from './api-path.ts';
import type { KubeConfigSource } from './kube-config-types.ts';
import type { KubeTransport } from './kube-transport.ts';
import { createKubeTransport } from './transport.ts';
import type { KubeTransportOptions } from './transport-options.ts';

/** etcd takes no object above 1.5 MiB; JSON may spell it longer. */
const maxAnswerBytes = 16 * 1024 * 1024;

/** A `PodClient` over this package's own transport, which others (an informer, an agent) may use beside it. */
export interface HttpPodClient extends Required<PodClient> {
  readonly transport: KubeTransport;
  /** Closes idle connections. To end for good what is under way: `transport.close()`. */
  close(): Promise<void>;
}

/**
 * Requests as raw JSON in both directions over shared keep-alive connections: no field is lost, no
 * time is converted. Rejects with `ApiError`, and for a name that no pod can have with
 * `StatusManagerError` INVALID_ARGUMENT.
 * @throws {StatusManagerError} INVALID_ARGUMENT for a kubeconfig that cannot be used, INVALID_OPTION for an option.
 */
export function createPodClient(kubeConfig: KubeConfigSource, options: KubeTransportOptions = {}): HttpPodClient {
  const transport = createKubeTransport(kubeConfig, options);
  return {
    transport,
    async getPod({ namespace, name }, { signal }) {
      const answer = await transport.request('GET', podPath(namespace, name), { signal, maxAnswerBytes });
      return asPod(answer.json());
    },
    async patchPodStatus({ namespace, name }, { type, body }, { signal }) {
      const answer = await transport.request('PATCH', `${podPath(namespace, name)}/status`, {
        body,
        contentType: type,
        signal,
        maxAnswerBytes,
      });
      return asPod(answer.json());
    },
    async deletePod({ namespace, name }, { uid, gracePeriodSeconds }, { signal }) {
      const body = { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds, preconditions: { uid } };
      const answer = await transport.request('DELETE', podPath(namespace, name), { body, signal, maxAnswerBytes });
      answer.json();
    },
    close: () => transport.closeIdle(),
  };
}

function asPod(answer: unknown): Pod {
  if (isObject(answer) && answer['kind'] === 'Pod' && isObject(answer['metadata'])) return answer;
  throw new ApiError('the answer is no pod', { kind: 'invalid-answer' });
}
