import { formatChecks, healthChecks } from '../agent/http-server/health-checks.ts';
import { isStaticPod } from '../kube/static-pods.ts';
import { serveContainerLogs } from './container-logs.ts';
import { HTTPError } from './http-error.ts';
import { type KubeletAPIContext, type KubeletHandler, sendJSON, sendText } from './kubelet-api-context.ts';
import { runCommand } from './streaming.ts';

export interface KubeletRoute {
  readonly methods: readonly string[];
  readonly handle: KubeletHandler;
}

/** First segment of the path → its handler. Source: kubelet `InstallAuthRequiredHandlers` */
export function kubeletRoutes(context: KubeletAPIContext): Readonly<Record<string, KubeletRoute>> {
  const { agent, clock } = context;
  const upgradeRequired: KubeletRoute = {
    methods: ['GET', 'POST'],
    handle: () => {
      throw new HTTPError(400, 'Upgrade request required');
    },
  };
  return {
    healthz: get(({ segments, query }, response) => {
      const all = healthChecks(agent.inspect(), clock.now());
      const [name] = segments;
      const checks = name === undefined ? all : all.filter((check) => check.name === name);
      if (checks.length === 0) throw new HTTPError(404, '404: Page Not Found');
      const { status, text } = formatChecks('healthz', checks, query.has('verbose'));
      sendText(response, status, text);
    }),
    pods: get((_, response) =>
      sendJSON(response, { kind: 'PodList', apiVersion: 'v1', metadata: {}, items: pods(context) }),
    ),
    containerLogs: get((request, response) => serveContainerLogs(context, request, response)),
    run: {
      methods: ['POST'],
      handle: async (request, response) => sendText(response, 200, await runCommand(context, request)),
    },
    exec: upgradeRequired,
    attach: upgradeRequired,
    portForward: upgradeRequired,
    checkpoint: {
      methods: ['POST'],
      handle: () => {
        throw new HTTPError(501, 'Checkpoints of containers are not supported');
      },
    },
  };
}

function get(handle: KubeletHandler): KubeletRoute {
  return { methods: ['GET', 'HEAD'], handle };
}

/** The API server never shows the status of a static pod. Source: kubelet `GetPods` */
function pods({ agent }: KubeletAPIContext): readonly object[] {
  return agent.getPods().map((pod) => {
    const status = isStaticPod(pod) ? agent.statusManager.getPodStatus(pod.metadata.uid) : undefined;
    return status === undefined ? pod : { ...pod, status };
  });
}
