import type { AgentMetrics } from '../observe/agent-metrics.ts';
import type { Metrics } from '../status-manager/metrics.ts';
import type { ContainerRuntime, MetricsSource, StreamingRuntime } from '../node/index.ts';
import type { ClockLike } from '../shared/clock.ts';
import { refuseOption } from '../shared/errors.ts';
import { listenChecks } from '../shared/listen.ts';
import type { Logger } from '../shared/logger.ts';
import {
  aBoolean,
  anObject,
  aPath,
  duration,
  nested,
  oneOf,
  type OptionChecks,
  port,
  requiredPort,
  requireOptions,
  unchecked,
} from '../shared/option-checks.ts';
import type { KubeletAuthentication } from './authenticator.ts';
import type { KubeletAuthorization } from './authorizer.ts';
import { type KubeletTLSOptions, tlsServerOptions } from './tls-options.ts';

/** Options of `serveKubeletAPI`. */
export interface KubeletAPIOptions extends KubeletTLSOptions {
  /** The runtime of the agent. Without `listPodStats` and `imageFsStats`, the statistics cover only the node. */
  readonly runtime: Pick<ContainerRuntime, 'getPod' | 'listPods' | 'execSync' | 'imageFsStats' | 'listPodStats'> &
    StreamingRuntime;
  /** Address to listen on. Default `0.0.0.0`. kubelet: `address`. */
  readonly host?: string | undefined;
  /** Port to listen on; 0 means any free port. Default 10250. kubelet: `port`. */
  readonly port?: number | undefined;
  /**
   * PEM file of the serving certificate and its chain; read again each minute. Default: a self-signed one.
   * kubelet: `tlsCertFile`.
   */
  readonly tlsCertFile?: string | undefined;
  /** PEM file of its private key. kubelet: `tlsPrivateKeyFile`. */
  readonly tlsPrivateKeyFile?: string | undefined;
  /**
   * Requests the serving certificate from the cluster, by a CertificateSigningRequest of
   * `kubernetes.io/kubelet-serving`, and renews it before it expires. The requests must be approved. Connections are
   * refused until there is a certificate. Default: false. kubelet: `serverTLSBootstrap`.
   */
  readonly serverTLSBootstrap?: boolean | undefined;
  /** Where such a certificate, or a self-signed one, is kept. Default: `/var/lib/kubelet/pki`. kubelet: `--cert-dir`. */
  readonly certDirectory?: string | undefined;
  /** Default: only bearer tokens that the API server knows. */
  readonly authentication?: KubeletAuthentication | undefined;
  /** Default: the API server decides. */
  readonly authorization?: KubeletAuthorization | undefined;
  /** Registry to serve at `/metrics`. Default: none, and `/metrics` does not exist. */
  readonly register?: MetricsSource | undefined;
  /** Receives measurements, as the option of `createNodeAgent`. Default: none. */
  readonly metrics?: Partial<Metrics & AgentMetrics> | undefined;
  /**
   * Fields of `/configz`, in the format of `KubeletConfiguration`, in addition to those that this library knows. They must
   * not contain secrets. Default: none.
   */
  readonly kubeletConfiguration?: Readonly<Record<string, unknown>> | undefined;
  /** Default: pino at level `warn`. */
  readonly logger?: Partial<Logger> | undefined;
  /** Default: the system clock. */
  readonly clock?: ClockLike | undefined;
}

const authenticationChecks: OptionChecks<KubeletAuthentication> = {
  anonymous: aBoolean,
  clientCAFile: aPath,
  webhook: aBoolean,
  webhookCacheTTLMs: duration,
};

const authorizationChecks: OptionChecks<KubeletAuthorization> = {
  cacheAuthorizedTTLMs: duration,
  cacheUnauthorizedTTLMs: duration,
  mode: oneOf('Webhook', 'AlwaysAllow'),
};

const checks: OptionChecks<KubeletAPIOptions> = {
  ...listenChecks,
  authentication: nested(authenticationChecks),
  authorization: nested(authorizationChecks),
  certDirectory: aPath,
  clock: unchecked,
  kubeletConfiguration: anObject,
  logger: unchecked,
  metrics: anObject,
  register: port(['metrics']),
  runtime: requiredPort(['getPod', 'listPods', 'execSync']),
  serverTLSBootstrap: aBoolean,
  tlsCertFile: aPath,
  tlsCipherSuites: unchecked,
  tlsMinVersion: unchecked,
  tlsPrivateKeyFile: aPath,
};

/** @throws StatusManagerError INVALID_OPTION; `path` names the option */
export function requireKubeletAPIOptions(options: KubeletAPIOptions, hasAPIServer: boolean): void {
  requireOptions(options, checks);
  tlsServerOptions(options);
  const { authentication = {}, authorization = {}, tlsCertFile, tlsPrivateKeyFile } = options;
  if ((tlsCertFile === undefined) !== (tlsPrivateKeyFile === undefined))
    refuseOption('tlsPrivateKeyFile', 'given together with `tlsCertFile`');
  if (options.serverTLSBootstrap === true && tlsCertFile !== undefined)
    refuseOption('serverTLSBootstrap', 'false, or `tlsCertFile` absent');
  if (hasAPIServer) return;
  if (options.serverTLSBootstrap === true) refuseOption('serverTLSBootstrap', 'false: the agent has no client');
  if (authorization.mode !== 'AlwaysAllow')
    refuseOption('authorization.mode', '`AlwaysAllow`: the agent has no client');
  if (authentication.webhook !== false) refuseOption('authentication.webhook', 'false: the agent has no client');
}
