import type { KubeObject } from '../../kube/objects/kube-object.ts';
import { createInformerPodManager } from '../../kube/informer/informer-pod-manager.ts';
import { tellingInformer } from '../../kube/informer/with-informer.ts';
import { undefinedIfAborted } from '../../shared/abort.ts';
import { withDeadline } from '../../shared/deadline.ts';
import {
  type APIConnection,
  APIEventRecorder,
  createEventClient,
  type EventRecorder,
  guardedEventRecorder,
  openAPIConnection,
} from '../../node/index.ts';
import { MirrorPodClient } from '../mirror/mirror-pod-client.ts';
import { MirrorPods } from '../mirror/mirror-pods.ts';
import type { AgentContext } from './agent-context.ts';
import type { NodeAgentOptions } from './node-agent-options.ts';

/** The parts that read from the API server and write to it. */
export type AgentConnection = ReturnType<typeof createConnection>;

/** Without a client, `api`, `informer`, `mirrorPods` and `ownEventRecorder` are undefined. */
export function createConnection(options: NodeAgentOptions, context: AgentContext) {
  const { nodeName, clock, random, logger } = context;
  const opened = options.client === undefined ? undefined : openAPIConnection(options.client, { clock, logger });
  const informer = opened && createInformerPodManager({ client: opened.podClient, nodeName, clock, random, logger });
  const api = opened && { ...opened, requests: tellingInformer(opened.requests, informer!) };
  const mirrorPods = api && createMirrorPods(api, context);
  const ownEventRecorder =
    api !== undefined && options.eventRecorder === undefined
      ? new APIEventRecorder({ client: createEventClient(api.requests), nodeName, logger, clock, random })
      : undefined;
  const eventRecorder: EventRecorder =
    ownEventRecorder ?? guardedEventRecorder(options.eventRecorder ?? { event: () => {} }, logger);
  return { api, informer, mirrorPods, ownEventRecorder, eventRecorder };
}

/** Resolves when no request is left; those of recorded Events have `eventsMs`. */
export async function closeConnection(
  { api, ownEventRecorder }: AgentConnection,
  { clock }: AgentContext,
  eventsMs: number,
  stopSignal: AbortSignal,
): Promise<void> {
  const eventsWritten = ownEventRecorder?.stop() ?? Promise.resolve();
  await withDeadline(clock, eventsMs, stopSignal, ({ signal }) => undefinedIfAborted(eventsWritten, signal));
  api?.abort();
  await eventsWritten;
  await api?.close();
}

function createMirrorPods({ requests }: APIConnection, { nodeName, clock, logger }: AgentContext): MirrorPods {
  const nodePath = `/api/v1/nodes/${encodeURIComponent(nodeName)}`;
  const getNode = async (signal: AbortSignal): Promise<KubeObject<'Node'>> =>
    (await requests.request('GET', nodePath, { signal })).json() as KubeObject<'Node'>;
  const client = new MirrorPodClient({ requests, nodeName, getNode, logger });
  return new MirrorPods({ client, clock, logger });
}
