import { APIServer } from '../../src/testing/index.ts';
import type { HistoryEntry } from '../../src/api-server/api-server-handler.ts';
import { startControlPlane } from '../support/control-plane.ts';
import { KubeHTTP } from '../support/kube-http.ts';
import { type HistoryEvent, HistoryRecorder } from './history.ts';
import { nodeName } from './users.ts';

/** An API server of the chaos run. It can be killed and started again, and records everything that happens on it. */
export interface ChaosServer {
  readonly url: string;
  /** PEM. */
  readonly ca: string;
  readonly nodeToken: string;
  readonly adminToken: string;
  /** Sends requests as the admin, without the proxy. */
  readonly http: KubeHTTP;
  /** Stops the server gracefully, or as a crash would. */
  down(how: 'stop' | 'kill'): Promise<void>;
  up(): Promise<void>;
  /** Expires the resourceVersions of all watches to come. */
  compact?(): void;
  /** Every version of every pod. Call it last, because nothing is recorded after that. */
  history(): Promise<HistoryEvent[]>;
  close(): Promise<void>;
}

export const serverKinds = ['memory', 'kube-apiserver'] as const;
export type ServerKind = (typeof serverKinds)[number];

/** @param podNames of all pods of the run, as `namespace/name` */
export function startServer(kind: ServerKind, podNames: readonly string[]): Promise<ChaosServer> {
  return kind === 'memory' ? startAPIServer(podNames) : startKubeAPIServer();
}

async function startAPIServer(podNames: readonly string[]): Promise<ChaosServer> {
  const server = await APIServer.start({ nodeUsers: [nodeName], historyLimit: 1_000_000 });
  const ca = server.certificateAuthority;
  const http = new KubeHTTP({ url: server.url, caData: Buffer.from(ca).toString('base64'), token: server.token });
  await createNode(http);
  const events: HistoryEvent[] = [];
  /** Called before the server compacts its history. */
  const remember = (): void => {
    const last = events.at(-1)?.resourceVersion ?? 0;
    const entries = podNames.flatMap((name) => server.history(name)).map(historyEvent);
    const news = entries.filter(({ resourceVersion }) => resourceVersion > last);
    events.push(...news.sort((a, b) => a.resourceVersion - b.resourceVersion));
  };
  return {
    url: server.url,
    ca,
    nodeToken: server.nodeToken(nodeName),
    adminToken: server.token,
    http,
    down: () => server.kill(),
    up: () => {
      remember();
      return server.startAgain();
    },
    compact: () => {
      remember();
      server.compact();
    },
    history: () => {
      remember();
      return Promise.resolve(events);
    },
    close: async () => {
      await http.close();
      await server.close();
    },
  };
}

async function startKubeAPIServer(): Promise<ChaosServer> {
  const controlPlane = await startControlPlane({ nodeNames: [nodeName] });
  const { url, caData, adminToken } = controlPlane;
  const http = new KubeHTTP({ url, caData, token: adminToken });
  await createNode(http);
  const recorder = new HistoryRecorder(http);
  await recorder.start();
  return {
    url,
    ca: Buffer.from(caData, 'base64').toString(),
    nodeToken: controlPlane.nodeToken(nodeName),
    adminToken,
    http,
    down: (how) => (how === 'kill' ? controlPlane.killAPIServer() : controlPlane.stopAPIServer()),
    up: () => controlPlane.startAPIServer(),
    history: async () => {
      await recorder.stop();
      return recorder.events;
    },
    close: async () => {
      await http.close();
      await controlPlane.stop();
    },
  };
}

function historyEvent({ type, resourceVersion, object }: HistoryEntry): HistoryEvent {
  return { type, resourceVersion: Number(resourceVersion), pod: object };
}

async function createNode(http: KubeHTTP): Promise<void> {
  const body = { apiVersion: 'v1', kind: 'Node', metadata: { name: nodeName } };
  const { status } = await http.request('POST', '/api/v1/nodes', { body });
  if (status !== 201) throw new Error(`Cannot create the Node: ${status}`);
}
