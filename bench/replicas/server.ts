/*
 * The API server of the benchmark of replicas. Usage, with fork: server.js NODES PODS_PER_NODE. It sends its kubeconfig, and
 * replies to each message; see `ServerCommand`.
 */
import { APIServer, type RequestRecord } from 'kubelet-status-manager/testing';
import { cpuMsOfThis } from '../cpu.ts';
import type { ServerCommand, ServerReply } from './messages.ts';

const [nodes, podsPerNode] = process.argv.slice(2).map(Number) as [number, number];
const requests: Record<string, number> = {};
/** By UID. */
const shown = { create: new Set<string>(), run: new Set<string>(), change: new Set<string>() };
const podsAtOnce = 100;
let created = 0;

// The processes share two cores with it: TLS would be most of what it does.
const server = await APIServer.start({ tls: false, onRequest: count });
server.pods.subscribe(({ pod: { metadata, status } }) => {
  const uid = metadata!.uid!;
  if (status?.containerStatuses !== undefined) shown.create.add(uid);
  if (status?.phase === 'Running') shown.run.add(uid);
  if (status?.containerStatuses?.[0]?.restartCount === 1) shown.change.add(uid);
});
process.on('message', (command: ServerCommand) => {
  if (command === 'create') createPods();
  reply();
});
process.on('disconnect', () => process.exit());
reply();

function createPods(): void {
  for (const end = Math.min(created + podsAtOnce, nodes * podsPerNode); created < end; created++) {
    server.pods.create({
      metadata: { name: `pod-${created}` },
      spec: {
        nodeName: `node-${Math.floor(created / podsPerNode)}`,
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        containers: ['a', 'b'].map((name) => ({ name, image: 'none' })),
      },
    });
  }
}

function count({ method, path }: RequestRecord): void {
  const { resource, name, subresource } =
    /\/(?<resource>[a-z]+)(?:\/(?<name>[^/]+)(?:\/(?<subresource>[a-z]+))?)?$/.exec(
      path.replace(/\?.*/, '').replace(/^\/(?:api\/v1|apis\/[^/]+\/v1)(?:\/namespaces\/[^/]+)?/, ''),
    )?.groups ?? { resource: path };
  const readAll = /[?&]watch=/.test(path) ? 'WATCH' : 'LIST';
  const verb = method === 'GET' && name === undefined ? readAll : method;
  const kind = `${verb} ${resource}${subresource === undefined ? '' : `/${subresource}`}`;
  requests[kind] = (requests[kind] ?? 0) + 1;
}

function reply(): void {
  process.send!({
    kubeConfig: server.kubeconfig(),
    cpuMs: cpuMsOfThis(),
    bytes: server.bytesTransferred,
    watches: server.inFlight.watches,
    requests,
    created,
    shown: { create: shown.create.size, run: shown.run.size, change: shown.change.size },
  } satisfies ServerReply);
}
