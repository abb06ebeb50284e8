import { setMaxListeners } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { CertificateManager, type KeyPair, servingKind } from '../node/index.ts';
import { listen } from '../shared/listen.ts';
import { requirePort, resolveClock, resolveLogger } from '../shared/ports.ts';
import { ConnectionLimit } from '../shared/connection-limit.ts';
import { serveInTurn } from '../shared/serve-in-turn.ts';
import { AccessControl } from './access-control.ts';
import { boundedStreamingRuntime } from './bounded-streaming-runtime.ts';
import { type KubeletAPIOptions, requireKubeletAPIOptions } from './kubelet-api-options.ts';
import type { KubeletAPIContext, KubeletAPINode } from './kubelet-api-context.ts';
import { KubeletRequests } from './kubelet-requests.ts';
import { tlsServerOptions } from './tls-options.ts';
import { CertificateFiles, readCertificate, selfSignedCertificate, servingHosts } from './serving-certificate.ts';
import { systemRandom } from '../shared/entropy.ts';

/** A server that `serveKubeletAPI` has started. */
export interface KubeletAPIServer extends AsyncDisposable {
  /** `https://0.0.0.0:10250`, for example. */
  readonly url: string;
  readonly port: number;
  /** Stops listening and closes all connections, including those of `kubectl exec`. */
  close(): Promise<void>;
}

/**
 * Serves the kubelet's API for `kubectl logs`, `exec`, `attach`, `port-forward` and `cp`, over TLS. The API server
 * calls it with its kubelet client certificate (`authentication.clientCAFile`) or a token. By default, the API server
 * decides about each request, by TokenReview and SubjectAccessReview: everything else is refused.
 *
 * Call it before `start()` of the agent, so that the Node shows the port. Pass `VirtualNodes.kubelet` instead of an agent
 * to serve all virtual nodes of a process on one port. Rejects if the address cannot be listened on, or a
 * file cannot be read. Source: kubelet `ListenAndServeKubeletServer`.
 * @throws StatusManagerError INVALID_OPTION, INVALID_STATE
 *
 * @example
 * ```ts
 * import { createNodeAgent } from 'kubelet-status-manager/agent';
 * import { serveKubeletAPI } from 'kubelet-status-manager/kubelet-api';
 *
 * const agent = createNodeAgent({ nodeName: 'node-a', client, runtime });
 * const server = await serveKubeletAPI(agent, {
 *   runtime,
 *   authentication: { clientCAFile: '/etc/kubernetes/pki/ca.crt' },
 * });
 * agent.start();
 * process.once('SIGTERM', async () => {
 *   await server.close();
 *   await agent.stop({ drain: true });
 * });
 * ```
 */
export async function serveKubeletAPI(agent: KubeletAPINode, options: KubeletAPIOptions): Promise<KubeletAPIServer> {
  requirePort('agent', agent, ['inspect', 'getPods']);
  requireKubeletAPIOptions(options, agent.apiRequests !== undefined);
  const { host = '0.0.0.0', port = 10_250, authentication = {}, authorization = {} } = options;
  const logger = resolveLogger(options.logger);
  const clock = resolveClock(options.clock);
  const closed = new AbortController();
  setMaxListeners(0, closed.signal);
  const runtime = boundedStreamingRuntime(options.runtime, clock, closed.signal);
  const accessControl = new AccessControl({
    nodeName: agent.isShared === true ? undefined : agent.nodeName,
    ...{ requests: agent.apiRequests, authentication, authorization },
    ...{ clock, logger, metrics: options.metrics, signal: closed.signal },
  });
  const { clientCAFile } = authentication;
  const { certDirectory = defaultCertDirectory, serverTLSBootstrap = false, tlsCertFile, tlsPrivateKeyFile } = options;
  const tlsOptions = {
    ...tlsServerOptions(options),
    handshakeTimeout: handshakeTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelay: tcpKeepAliveMs,
    ...(clientCAFile !== undefined && {
      ca: await readFile(clientCAFile),
      requestCert: true,
      // A client without a certificate may have a token.
      rejectUnauthorized: false,
    }),
  };
  const certificate = serverTLSBootstrap ? undefined : await servingCertificate(agent.nodeName, options, clock.now());
  const server = createServer({ ...tlsOptions, ...certificate });
  const { apiRequests } = agent;
  const certificates =
    serverTLSBootstrap && apiRequests !== undefined
      ? new CertificateManager({
          kind: servingKind,
          nodeName: agent.nodeName,
          requests: () => apiRequests,
          directory: certDirectory,
          hosts: () => servingHosts(agent.getNode()?.status?.addresses ?? []),
          onCertificate: (issued) => server.setSecureContext({ ...tlsOptions, ...issued }),
          ...{ clock, random: systemRandom, logger },
        })
      : undefined;
  const connections = new ConnectionLimit(server, { maxConnections, maxExempt: maxRequests, clock, logger });
  const context: KubeletAPIContext = { agent, runtime, options, clock, logger };
  const requests = new KubeletRequests(context, { accessControl, connections, closed: closed.signal });
  serveInTurn(server, (request, response) => void requests.serve(request, response));
  server.on('upgrade', (request, socket, head) => void requests.upgrade(request, socket, head));
  // Log files of containers that write nothing are followed for hours.
  server.requestTimeout = requestTimeoutMs;
  server.keepAliveTimeout = idleTimeoutMs;
  const listening = await listen(server, { host, port });
  certificates?.start();
  const files =
    certificate !== undefined && tlsCertFile !== undefined && tlsPrivateKeyFile !== undefined
      ? new CertificateFiles({
          ...{ tlsCertFile, tlsPrivateKeyFile, served: certificate, clock, logger },
          onChange: (changed) => server.setSecureContext({ ...tlsOptions, ...changed }),
        })
      : undefined;
  files?.start();
  // Streaming servers of runtimes have SPDY; the API server translates WebSockets for them.
  const has = (method: keyof typeof runtime): boolean => runtime[method] !== undefined;
  const hasWebSockets = (has('exec') || has('attach')) && !has('getExec');
  agent.setKubeletEndpoint(listening.port, hasWebSockets ? ['ExtendWebSocketsToKubelet'] : []);
  const url = `https://${listening.address}`;
  logger.info({ url }, 'Serving the kubelet API');
  if (clientCAFile === undefined && !(authentication.anonymous === true && authorization.mode === 'AlwaysAllow'))
    logger.warn({ url }, withoutClientCA);
  const close = async (): Promise<void> => {
    closed.abort();
    files?.stop();
    await certificates?.stop();
    await connections.closeServer();
  };
  return { url, port: listening.port, close, [Symbol.asyncDispose]: close };
}

const withoutClientCA =
  'Without `authentication.clientCAFile`, the client certificate of the API server is not accepted: kubectl logs, exec, attach and port-forward fail with 401. Set it to the CA of --kubelet-client-certificate';
const defaultCertDirectory = '/var/lib/kubelet/pki';
/** As in Go's HTTP client: an unauthenticated client must not hold a connection. */
const handshakeTimeoutMs = 10_000;
/**
 * A connection that is idle for this long is probed: a client whose machine is gone, as an API server's may be, ends no
 * followed log and no exec. Source: Go `net.ListenConfig`
 */
const tcpKeepAliveMs = 15_000;
/** How long a client may take for a request; Node.js gives the headers as long. */
const requestTimeoutMs = 60_000;
/**
 * Connections without a request that is authorized and in progress. When there are more, the one that was used least
 * recently is closed, so that known clients are served.
 */
const maxConnections = 512;
/** Authorized requests in progress, including those that last for hours: exec, port-forward, followed logs. */
const maxRequests = 2048;
/** kubelet: `IdleTimeout` */
const idleTimeoutMs = 90_000;

async function servingCertificate(
  nodeName: string,
  { tlsCertFile, tlsPrivateKeyFile, certDirectory = defaultCertDirectory }: KubeletAPIOptions,
  nowMs: number,
): Promise<KeyPair> {
  return tlsCertFile !== undefined && tlsPrivateKeyFile !== undefined
    ? readCertificate(tlsCertFile, tlsPrivateKeyFile)
    : selfSignedCertificate(certDirectory, [nodeName], nowMs);
}
