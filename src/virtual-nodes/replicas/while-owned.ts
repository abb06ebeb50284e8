import type { APIConnection } from '../../node/index.ts';
import { APIError } from '../../kube/client/api-error.ts';
import type { PodStatusPatch } from '../../kube/client/pod-client.ts';
import { type AbortSignalLike, untilAborted } from '../../shared/abort.ts';
import type { ProviderCalls } from '../calls/provider-calls.ts';
import type { OwnedNode } from './node-ownership-options.ts';

/**
 * The connection of an owned node: once the ownership has ended, it still reads, and sends no write; those that wait for a
 * connection are aborted.
 */
export function connectionWhileOwned(
  { podClient, requests }: APIConnection,
  owned: Pick<OwnedNode, 'isOwned' | 'nodeName' | 'signal'>,
): Pick<APIConnection, 'podClient' | 'requests'> {
  const whileOwned = async <T>(
    signal: AbortSignalLike | undefined,
    send: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> => {
    const ended = new AbortController();
    const end = (): void => ended.abort(new APIError(notOwned(owned), { kind: 'aborted' }));
    const abort = (): void => ended.abort(signal?.reason);
    if (!owned.isOwned()) throw new APIError(notOwned(owned), { kind: 'aborted' });
    if (signal?.aborted === true) abort();
    owned.signal.addEventListener('abort', end);
    signal?.addEventListener('abort', abort);
    try {
      return await send(ended.signal);
    } finally {
      owned.signal.removeEventListener('abort', end);
      signal?.removeEventListener('abort', abort);
    }
  };
  return {
    podClient: {
      transport: podClient.transport,
      get lastSuccessAgeMs() {
        return podClient.lastSuccessAgeMs;
      },
      getPod: (...args) => podClient.getPod(...args),
      patchPodStatus: (pod, patch, options) =>
        whileOwned(options.signal, (signal) =>
          podClient.patchPodStatus(pod, unlessChanged(patch), { ...options, signal }),
        ),
      deletePod: (pod, preconditions, options) =>
        whileOwned(options.signal, (signal) => podClient.deletePod(pod, preconditions, { ...options, signal })),
      close: () => podClient.close(),
    },
    requests: {
      ...requests,
      request(method, path, options = {}) {
        if (method === 'GET') return requests.request(method, path, options);
        return whileOwned(options.signal, (signal) => requests.request(method, path, { ...options, signal }));
      },
    },
  };
}

/**
 * The patch, which the API server refuses if somebody has changed the pod: a process that is stopped before it sends a status,
 * and continues when another one owns the node, would write it over a newer one. Then the pod is read, while it is owned.
 *
 * Divergence: the kubelet's patches have the UID only, because it has its node alone.
 */
function unlessChanged({ resourceVersion, ...patch }: PodStatusPatch): PodStatusPatch {
  if (resourceVersion === undefined) return patch;
  if (patch.type === 'application/json-patch+json') {
    const test = { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion } as const;
    return { ...patch, body: [test, ...patch.body] };
  }
  return { ...patch, body: { ...patch.body, metadata: { ...patch.body.metadata, resourceVersion } } };
}

/**
 * The calls for pods of an owned node: nothing is asked of the provider once the ownership has ended. A call then waits for
 * the end of the node, which is near.
 */
export function callsWhileOwned(
  calls: Pick<ProviderCalls, 'forPod'>,
  owned: Pick<OwnedNode, 'isOwned'>,
): Pick<ProviderCalls, 'forPod'> {
  return {
    forPod: (podUID, operation, signal, call) =>
      calls.forPod(podUID, operation, signal, async (options, provider) => {
        if (!owned.isOwned()) await untilAborted(new Promise<never>(() => {}), options.signal);
        return call(options, provider);
      }),
  };
}

export function notOwned({ nodeName }: Pick<OwnedNode, 'nodeName'>): string {
  return `node ${nodeName} is not owned by this process any more`;
}
