import { formatChecks, healthChecks, type RuntimePod } from '../node/index.ts';
import { isStaticPod } from '../kube/pods/static-pods.ts';
import { FailureLog } from '../shared/failure-log.ts';
import { reasonOf } from '../shared/logger.ts';
import { serveContainerLogs } from './serve-container-logs.ts';
import { HTTPError } from './http-error.ts';
import { type KubeletAPIContext, type KubeletHandler, sendJSON, sendText } from './kubelet-api-context.ts';
import { resourceMetrics } from './resource-metrics.ts';
import { HealthMetrics } from './health-metrics.ts';
import { cpuAndMemoryOf, SummaryProvider } from './stats-summary.ts';
import { getRun } from './streaming.ts';

export interface KubeletRoute {
  readonly methods: readonly string[];
  /** How many segments the path may have after the first one. */
  readonly maxSegments: number;
  readonly handle: KubeletHandler;
}

const prometheusContentType = 'text/plain; version=0.0.4; charset=utf-8';

/**
 * First segment of the path → its handler. Source: kubelet `InstallAuthNotRequiredHandlers`,
 * `InstallAuthRequiredHandlers`.
 *
 * Divergence: there are no `/logs`, `/debug`, `/metrics/cadvisor`, `/metrics/probes`, `/allocatedPods`, `/statusz` and
 * `/flagz`, and containers cannot be checkpointed. Log files in Docker's JSON format are not read. `exec`, `attach` and
 * `portForward` without an upgrade get 400, where the kubelet returns 500. The server speaks HTTP/1.1 only.
 */
export function kubeletRoutes(context: KubeletAPIContext): Readonly<Record<string, KubeletRoute>> {
  const { agent, clock, runtime, options } = context;
  const summaries = new SummaryProvider(context);
  const healthMetrics = new HealthMetrics();
  const statsFailures = new FailureLog({ ...context, what: 'Reading the statistics of the runtime' });
  const upgradeRequired: KubeletRoute = {
    methods: ['GET', 'POST'],
    maxSegments: 4,
    handle: () => {
      throw new HTTPError(400, 'Upgrade request required');
    },
  };
  const summary = async (signal: AbortSignal): ReturnType<SummaryProvider['get']> => {
    if (agent.isShared === true) throw new HTTPError(501, 'Several nodes share this port: no statistics');
    if (agent.nodeStats !== undefined && runtime.listPodStats === undefined)
      throw new HTTPError(501, 'The provider has no statistics');
    try {
      const result = await summaries.get({ signal });
      statsFailures.succeeded();
      return result;
    } catch (cause) {
      if (!signal.aborted) statsFailures.failed(cause);
      throw new HTTPError(500, `failed to list pod stats: ${reasonOf(cause)}`, { cause });
    }
  };
  return {
    healthz: get(1, ({ segments, query }, response) => {
      const all = healthChecks(agent.inspect(), clock.now());
      const [name] = segments;
      const checks = name === undefined ? all : all.filter((check) => check.name === name);
      if (checks.length === 0) throw notFound();
      healthMetrics.observe(checks);
      const { status, text } = formatChecks('healthz', checks, query.has('verbose'));
      sendText(response, status, text);
    }),
    pods: get(0, (_, response) => sendJSON(response, podList(podsOf(context)))),
    runningpods: get(0, async ({ signal }, response) => {
      const pods = (await runtime.listPods({ signal })).filter(isRunning);
      sendJSON(response, podList(pods.map(({ containers, ...pod }) => runningPod(pod, containers))));
    }),
    stats: {
      methods: ['GET', 'HEAD', 'POST'],
      maxSegments: 1,
      handle: async ({ segments, query, signal }, response) => {
        if (segments.join('/') !== 'summary') throw notFound();
        const only = query.getAll('only_cpu_and_memory');
        const stats = await summary(signal);
        sendJSON(response, only.length === 1 && only[0] === 'true' ? cpuAndMemoryOf(stats) : stats);
      },
    },
    metrics: get(1, async ({ segments, signal }, response) => {
      const [part] = segments;
      if (part === 'resource') {
        const text = resourceMetrics(await summary(signal).catch(() => undefined));
        return sendText(response, 200, text, prometheusContentType);
      }
      if (part === 'slis') return sendText(response, 200, healthMetrics.format(), prometheusContentType);
      if (part !== undefined || options.register === undefined) throw notFound();
      return sendText(response, 200, await options.register.metrics(), options.register.contentType);
    }),
    configz: get(0, (_, response) => sendJSON(response, { kubeletconfig: configuration(context) })),
    containerLogs: get(3, (request, response) => serveContainerLogs(context, request, response)),
    run: {
      methods: ['POST'],
      maxSegments: 4,
      handle: async (request, response) => sendText(response, 200, await getRun(context, request)),
    },
    exec: upgradeRequired,
    attach: upgradeRequired,
    portForward: upgradeRequired,
    checkpoint: {
      methods: ['POST'],
      maxSegments: 3,
      handle: () => {
        throw new HTTPError(501, 'Checkpoints of containers are not supported');
      },
    },
  };
}

function get(maxSegments: number, handle: KubeletHandler): KubeletRoute {
  return { methods: ['GET', 'HEAD'], maxSegments, handle };
}

function notFound(): HTTPError {
  return new HTTPError(404, '404: Page Not Found');
}

function podList(items: readonly object[]): object {
  return { kind: 'PodList', apiVersion: 'v1', metadata: {}, items };
}

/** The API server does not show the status of a static pod before its mirror pod exists. Source: kubelet `GetPods` */
function podsOf({ agent }: KubeletAPIContext): readonly object[] {
  return agent.getPods().map((pod) => {
    const status = isStaticPod(pod) ? agent.statusManager.getPodStatus(pod.metadata.uid) : undefined;
    return status === undefined ? pod : { ...pod, status };
  });
}

function isRunning({ containers, sandboxes = [] }: RuntimePod): boolean {
  return containers.some(({ state }) => state === 'running') || sandboxes.some(({ ready }) => ready);
}

/** Source: kubelet `ToAPIPod`. */
function runningPod(
  { uid, name, namespace }: { readonly uid: string; readonly name: string; readonly namespace: string },
  containers: readonly { readonly name: string; readonly image?: string | undefined; readonly state: string }[],
): object {
  const running = containers.filter(({ state }) => state === 'running');
  return {
    metadata: { name, namespace, uid },
    spec: { containers: running.map(({ name, image }) => ({ name, image, resources: {} })) },
    status: {},
  };
}

/** Source: `KubeletConfiguration`. */
function configuration({ options }: KubeletAPIContext): object {
  const { authentication = {}, authorization = {} } = options;
  const seconds = (ms: number): string => `${ms / 1000}s`;
  return {
    kind: 'KubeletConfiguration',
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    address: options.host ?? '0.0.0.0',
    port: options.port ?? 10_250,
    ...(options.tlsCertFile !== undefined && {
      tlsCertFile: options.tlsCertFile,
      tlsPrivateKeyFile: options.tlsPrivateKeyFile,
    }),
    ...(options.tlsCipherSuites !== undefined && { tlsCipherSuites: options.tlsCipherSuites }),
    ...(options.tlsMinVersion !== undefined && { tlsMinVersion: options.tlsMinVersion }),
    authentication: {
      x509: authentication.clientCAFile === undefined ? {} : { clientCAFile: authentication.clientCAFile },
      webhook: {
        enabled: authentication.webhook ?? true,
        cacheTTL: seconds(authentication.webhookCacheTTLMs ?? 120_000),
      },
      anonymous: { enabled: authentication.anonymous ?? false },
    },
    authorization: {
      mode: authorization.mode ?? 'Webhook',
      webhook: {
        cacheAuthorizedTTL: seconds(authorization.cacheAuthorizedTTLMs ?? 300_000),
        cacheUnauthorizedTTL: seconds(authorization.cacheUnauthorizedTTLMs ?? 30_000),
      },
    },
    enableServer: true,
    enableDebuggingHandlers: true,
    ...options.kubeletConfiguration,
  };
}
