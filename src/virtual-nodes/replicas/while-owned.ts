import type { APIConnection } from '../../node/index.ts';
import { APIError } from '../../kube/client/api-error.ts';
import type { PodStatusPatch } from '../../kube/client/pod-client.ts';
import { type AbortSignalLike, untilAborted } from '../../shared/abort.ts';
import type { ProviderCall, ProviderCalls } from '../calls/provider-calls.ts';
import type { OwnedNode } from './node-ownership-options.ts';

/**
 * The connection of an owned node. Once the ownership has ended, it still reads but no longer writes; writes that wait for a
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
 * Adds the resourceVersion to a patch, so that the API server refuses it if somebody has changed the pod. Otherwise, a process
 * that is paused before it sends a status, and resumed when another process owns the node, would overwrite a newer status. After
 * the refusal, the owner reads the pod and patches again.
 *
 * Divergence: the kubelet's patches have only the UID, because no other process runs its node.
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
 * The calls for the pods of an owned node. Once the ownership has ended, the provider is not called; the caller waits until it is
 * aborted, because the node is about to be stopped.
 */
export function callsWhileOwned(
  calls: Pick<ProviderCalls, 'bounded' | 'forPod'>,
  owned: Pick<OwnedNode, 'isOwned'>,
): Pick<ProviderCalls, 'bounded' | 'forPod'> {
  const whileOwned =
    <T>(call: ProviderCall<T>): ProviderCall<T> =>
    async (options, provider) => {
      if (!owned.isOwned()) await untilAborted(new Promise<never>(() => {}), options.signal);
      return call(options, provider);
    };
  return {
    forPod: (podUID, operation, signal, call) => calls.forPod(podUID, operation, signal, whileOwned(call)),
    bounded: (operation, signal, call, options) => calls.bounded(operation, signal, whileOwned(call), options),
  };
}

export function notOwned({ nodeName }: Pick<OwnedNode, 'nodeName'>): string {
  return `node ${nodeName} is no longer owned by this process`;
}
