/*
 * The API server of the benchmark of replicas, with all pods. Usage, with fork: server.js NODES PODS_PER_NODE. It sends
 * its kubeconfig, and replies to each message.
 */
import { APIServer, type RequestRecord } from 'kubelet-status-manager/testing';
import { cpuMsOfThis } from '../cpu.ts';
import type { ServerReply } from './messages.ts';

const [nodes, podsPerNode] = process.argv.slice(2).map(Number) as [number, number];
const requests: Record<string, number> = {};

// The processes share two cores with it: TLS would be most of what it does.
const server = await APIServer.start({ tls: false, onRequest: count });
for (let i = 0; i < nodes * podsPerNode; i++) {
  server.pods.create({
    metadata: { name: `pod-${i}` },
    spec: {
      nodeName: `node-${Math.floor(i / podsPerNode)}`,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      containers: ['a', 'b'].map((name) => ({ name, image: 'none' })),
    },
  });
}
process.on('message', reply);
process.on('disconnect', () => process.exit());
reply();

function count({ method, path }: RequestRecord): void {
  const { resource, name, subresource } =
    /\/(?<resource>[a-z]+)(?:\/(?<name>[^/]+)(?:\/(?<subresource>[a-z]+))?)?$/.exec(
      path.replace(/\?.*/, '').replace(/^\/(?:api\/v1|apis\/[^/]+\/v1)(?:\/namespaces\/[^/]+)?/, ''),
    )?.groups ?? { resource: path };
  const verb = method === 'GET' && name === undefined ? 'LIST' : method;
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
  } satisfies ServerReply);
}
