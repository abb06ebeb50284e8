import type { APIRequests } from '../../kube/client/api-requests.ts';
import type { ClockLike } from '../../shared/clock.ts';
import type { Logger } from '../../shared/logger.ts';
import { aFunction, port, required, requiredPort, requireOptions, unchecked } from '../../shared/option-checks.ts';
import { resolveClock, resolveLogger } from '../../shared/ports.ts';
import { CertificateManager, clientKind } from './certificate-manager.ts';
import { systemRandom } from '../../shared/entropy.ts';

/**
 * Requests a node's client certificate from the cluster, and renews it after 70 to 90 % of its lifetime. The certificate is
 * in `kubelet-client-current.pem` of `certDirectory`, with its key: name that file in a kubeconfig as `client-certificate`
 * and `client-key`, and its client uses each new certificate within a minute. Somebody must approve the requests, whose
 * signer is `kubernetes.io/kube-apiserver-client-kubelet`. Failures are logged and tried again. Source: kubelet
 * `NewKubeletClientCertificateManager`.
 *
 * @param options `requests` is the `transport` of a client with the certificate, and `bootstrapRequests` that of a client
 *   with the credentials for the first certificate (default: `requests`). A new certificate that `verify` does not
 *   accept within a minute is not used until it does, which is asked again before another one is requested; by default,
 *   every one is used.
 * @throws StatusManagerError INVALID_OPTION
 *
 * @example
 * ```ts
 * import { readFileSync } from 'node:fs';
 * import { createNodeAgent, startClientCertificateManager } from 'kubelet-status-manager/agent';
 * import { createPodClient } from 'kubelet-status-manager/http';
 *
 * const client = createPodClient(kubeConfig);
 * const bootstrap = createPodClient(JSON.parse(readFileSync('bootstrap.json', 'utf8')));
 * const certificates = startClientCertificateManager({
 *   nodeName: 'node-a',
 *   certDirectory: '/var/lib/kubelet/pki',
 *   requests: client.transport,
 *   bootstrapRequests: bootstrap.transport,
 * });
 * const agent = createNodeAgent({ nodeName: 'node-a', client, runtime });
 * agent.start();
 * process.once('SIGTERM', async () => {
 *   await agent.stop({ drain: true });
 *   await certificates.stop();
 * });
 * ```
 */
export function startClientCertificateManager(options: {
  readonly nodeName: string;
  readonly certDirectory: string;
  readonly requests: APIRequests;
  readonly bootstrapRequests?: APIRequests | undefined;
  readonly verify?: ((certificate: { readonly cert: string; readonly key: string }) => Promise<void>) | undefined;
  readonly logger?: Partial<Logger> | undefined;
  readonly clock?: ClockLike | undefined;
}): {
  /** Resolves when no request and no timer is left. */
  stop(): Promise<void>;
} {
  const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';
  requireOptions(options, {
    nodeName: required('the name of a Node', isText),
    certDirectory: required('a path', isText),
    requests: requiredPort(['request']),
    bootstrapRequests: port(['request']),
    verify: aFunction,
    logger: unchecked,
    clock: unchecked,
  });
  const { nodeName, certDirectory, requests, bootstrapRequests = requests, verify } = options;
  const manager = new CertificateManager({
    kind: clientKind,
    nodeName,
    hosts: () => [],
    requests: (isValid) => (isValid ? requests : bootstrapRequests),
    directory: certDirectory,
    verify,
    clock: resolveClock(options.clock),
    random: systemRandom,
    logger: resolveLogger(options.logger),
  });
  manager.start();
  return manager;
}
