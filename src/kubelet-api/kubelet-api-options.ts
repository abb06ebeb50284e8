import type { AgentMetrics } from '../observe/agent-metrics.ts';
import type { Metrics } from '../status-manager/metrics.ts';
import isPlainObject from 'lodash/isPlainObject.js';
import type { ContainerRuntime, MetricsSource, StreamingRuntime } from '../node/index.ts';
import type { ClockLike } from '../shared/clock.ts';
import { refuseOption } from '../shared/errors.ts';
import { requireListenAddress } from '../shared/listen.ts';
import type { Logger } from '../shared/logger.ts';
import { requirePort } from '../shared/ports.ts';
import { requireBooleanOption, requireDurationOption, requireFields } from '../shared/validate.ts';
import type { KubeletAuthentication } from './authenticator.ts';
import type { KubeletAuthorization } from './authorizer.ts';
import { type KubeletTLSOptions, tlsServerOptions } from './tls-options.ts';

/** Options of `serveKubeletAPI`. */
export interface KubeletAPIOptions extends KubeletTLSOptions {
  /** The runtime of the agent. Without `listPodStats` and `imageFsStats`, the statistics are those of the node only. */
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

const optionNames: Readonly<Record<keyof KubeletAPIOptions, true>> = {
  authentication: true,
  authorization: true,
  certDirectory: true,
  clock: true,
  host: true,
  kubeletConfiguration: true,
  logger: true,
  metrics: true,
  port: true,
  register: true,
  runtime: true,
  serverTLSBootstrap: true,
  tlsCertFile: true,
  tlsCipherSuites: true,
  tlsMinVersion: true,
  tlsPrivateKeyFile: true,
};
const authenticationNames: Readonly<Record<keyof KubeletAuthentication, true>> = {
  anonymous: true,
  clientCAFile: true,
  webhook: true,
  webhookCacheTTLMs: true,
};
const authorizationNames: Readonly<Record<keyof KubeletAuthorization, true>> = {
  cacheAuthorizedTTLMs: true,
  cacheUnauthorizedTTLMs: true,
  mode: true,
};

/** @throws StatusManagerError INVALID_OPTION; `path` names the option */
export function requireKubeletAPIOptions(options: KubeletAPIOptions, hasAPIServer: boolean): void {
  requireFields('options', options, Object.keys(optionNames));
  const { host = '0.0.0.0', port = 10_250, authentication = {}, authorization = {} } = options;
  requirePort('runtime', options.runtime, ['getPod', 'listPods', 'execSync']);
  if (options.register !== undefined) requirePort('register', options.register, ['metrics']);
  const { kubeletConfiguration, metrics } = options;
  if (metrics !== undefined && (typeof metrics !== 'object' || metrics === null)) refuseOption('metrics', 'an object');
  if (kubeletConfiguration !== undefined && !isPlainObject(kubeletConfiguration))
    refuseOption('kubeletConfiguration', 'an object');
  requireListenAddress({ host, port });
  requireFields('authentication', authentication, Object.keys(authenticationNames));
  requireFields('authorization', authorization, Object.keys(authorizationNames));
  const { tlsCertFile, tlsPrivateKeyFile, certDirectory } = options;
  const { clientCAFile } = authentication;
  for (const [name, path] of Object.entries({ tlsCertFile, tlsPrivateKeyFile, certDirectory, clientCAFile }))
    if (path !== undefined && (typeof path !== 'string' || path === '')) refuseOption(name, 'a path');
  if ((tlsCertFile === undefined) !== (tlsPrivateKeyFile === undefined))
    refuseOption('tlsPrivateKeyFile', 'given together with `tlsCertFile`');
  tlsServerOptions(options);
  requireBooleanOption('serverTLSBootstrap', options.serverTLSBootstrap);
  if (options.serverTLSBootstrap === true && tlsCertFile !== undefined)
    refuseOption('serverTLSBootstrap', 'false, or `tlsCertFile` absent');
  if (options.serverTLSBootstrap === true && !hasAPIServer)
    refuseOption('serverTLSBootstrap', 'false: the agent has no client');
  requireBooleanOption('authentication.anonymous', authentication.anonymous);
  requireBooleanOption('authentication.webhook', authentication.webhook);
  requireDurationOption('authentication.webhookCacheTTLMs', authentication.webhookCacheTTLMs);
  requireDurationOption('authorization.cacheAuthorizedTTLMs', authorization.cacheAuthorizedTTLMs);
  requireDurationOption('authorization.cacheUnauthorizedTTLMs', authorization.cacheUnauthorizedTTLMs);
  const { mode = 'Webhook' } = authorization;
  if (mode !== 'Webhook' && mode !== 'AlwaysAllow')
    refuseOption('authorization.mode', '`Webhook` or `AlwaysAllow`', mode);
  if (hasAPIServer) return;
  if (mode === 'Webhook') refuseOption('authorization.mode', '`AlwaysAllow`: the agent has no client');
  if (authentication.webhook !== false) refuseOption('authentication.webhook', 'false: the agent has no client');
}
