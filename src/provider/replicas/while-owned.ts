import type { APIConnection } from '../../agent/node-agent/api-connection.ts';
import { APIError } from '../../kube/client/api-error.ts';
import { untilAborted } from '../../shared/abort.ts';
import type { PodProvider, ProviderCallOptions } from '../pod-provider.ts';
import type { OwnedNode } from './node-ownership-options.ts';

type Ownership = Pick<OwnedNode, 'isOwned' | 'nodeName'>;

/** The connection of an owned node: once the ownership has ended, it still reads, and sends no write. */
export function connectionWhileOwned(
  { podClient, requests }: APIConnection,
  owned: Ownership,
): Pick<APIConnection, 'podClient' | 'requests'> {
  const requireOwned = (): void => {
    if (!owned.isOwned()) throw new APIError(notOwned(owned), { kind: 'aborted' });
  };
  return {
    podClient: {
      transport: podClient.transport,
      get lastSuccessAgeMs() {
        return podClient.lastSuccessAgeMs;
      },
      getPod: (...args) => podClient.getPod(...args),
      async patchPodStatus(...args) {
        requireOwned();
        return podClient.patchPodStatus(...args);
      },
      async deletePod(...args) {
        requireOwned();
        return podClient.deletePod(...args);
      },
      close: () => podClient.close(),
    },
    requests: {
      ...requests,
      async request(method, ...args) {
        if (method !== 'GET') requireOwned();
        return requests.request(method, ...args);
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
