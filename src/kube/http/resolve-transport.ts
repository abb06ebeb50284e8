import { refuseOption } from '../../shared/errors.ts';
import { isKubeConfig } from '../client/client-node-api.ts';
import type { KubeConfigSource } from './kube-config-types.ts';
import type { KubeTransport } from './kube-transport.ts';
import { createKubeTransport } from './transport.ts';
import type { KubeTransportOptions } from './transport-options.ts';

type Requests = Pick<KubeTransport, 'request' | 'stream'>;

/**
 * How to reach the API server: a `KubeConfig` of client-node, a kubeconfig as a plain object, or, to share its
 * connections, a client of `createPodClient`.
 */
export type APIClientSource = KubeConfigSource | { readonly transport: Requests };

/**
 * The connections of the option `client`; `close` closes them if they were created here.
 * @throws StatusManagerError INVALID_OPTION if it is not a client, INVALID_ARGUMENT for an invalid kubeconfig
 */
export function resolveTransport(
  client: APIClientSource,
  options: KubeTransportOptions,
): { readonly transport: Requests; readonly close: () => Promise<void> } {
  const expected = 'a KubeConfig, a kubeconfig object or a client of createPodClient';
  if (typeof client !== 'object' || client === null) refuseOption('client', expected, client);
  if ('transport' in client) {
    const { transport } = client;
    if (typeof transport?.request !== 'function' || typeof transport.stream !== 'function')
      refuseOption('client', expected);
    return { transport, close: async () => {} };
  }
  if (!isKubeConfig(client)) refuseOption('client', expected);
  const transport = createKubeTransport(client, options);
  return { transport, close: () => transport.close() };
}
