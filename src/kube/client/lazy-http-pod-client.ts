import type { HTTPPodClient } from '../http/http-pod-client.ts';
import type { KubeConfigSource } from '../http/kube-config-types.ts';
import { resolveKubeConfig } from '../http/kube-config.ts';
import type { KubeTransportOptions } from '../http/transport-options.ts';
import type { ClosablePodClient } from './pod-client.ts';

/**
 * `createPodClient`, loaded with the first request: its HTTP library takes as long to load as all the rest, and a
 * program with a mocked client does not need it.
 * @throws {StatusManagerError} INVALID_ARGUMENT for a kubeconfig that cannot be used
 */
export function lazyHTTPPodClient(kubeConfig: KubeConfigSource, options: KubeTransportOptions): ClosablePodClient {
  const config = resolveKubeConfig(kubeConfig, '.');
  config.user();
  config.cluster();
  let loading: Promise<HTTPPodClient> | undefined;
  const load = (): Promise<HTTPPodClient> =>
    (loading ??= import('../http/http-pod-client.ts').then(({ createPodClient }) =>
      createPodClient(kubeConfig, options),
    ));
  return {
    getPod: async (...call) => (await load()).getPod(...call),
    patchPodStatus: async (...call) => (await load()).patchPodStatus(...call),
    deletePod: async (...call) => (await load()).deletePod(...call),
    close: async () => (await loading)?.close(),
  };
}
