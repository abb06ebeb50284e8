import type { APIConnection } from '../../agent/node-agent/api-connection.ts';
import { APIError } from '../../kube/client/api-error.ts';
import { type AbortSignalLike, untilAborted } from '../../shared/abort.ts';
import type { PodProvider, ProviderCallOptions } from '../pod-provider.ts';
import type { OwnedNode } from './node-ownership-options.ts';

type Ownership = Pick<OwnedNode, 'isOwned' | 'nodeName'>;

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
        whileOwned(options.signal, (signal) => podClient.patchPodStatus(pod, patch, { ...options, signal })),
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
 * The provider of an owned node: nothing is asked of it once the ownership has ended. A call then waits for the end of the
 * node, which is near.
 */
export function providerWhileOwned(provider: PodProvider, owned: Ownership): PodProvider {
  const untilOwned = async ({ signal }: ProviderCallOptions): Promise<void> => {
    if (!owned.isOwned()) await untilAborted(new Promise<never>(() => {}), signal);
  };
  return {
    async createPod(pod, options) {
      await untilOwned(options);
      return provider.createPod(pod, options);
    },
    ...(provider.updatePod && {
      async updatePod(...args: Parameters<NonNullable<PodProvider['updatePod']>>) {
        await untilOwned(args[2]);
        return provider.updatePod!(...args);
      },
    }),
    async deletePod(pod, options) {
      await untilOwned(options);
      return provider.deletePod(pod, options);
    },
    ...(provider.getPod && {
      getPod: (...args: Parameters<NonNullable<PodProvider['getPod']>>) => provider.getPod!(...args),
    }),
    listPods: (options) => provider.listPods(options),
  };
}

function notOwned({ nodeName }: Ownership): string {
  return `node ${nodeName} is not owned by this process any more`;
}
