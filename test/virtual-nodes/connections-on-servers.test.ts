import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { systemClock } from 'kubelet-status-manager';
import { createVirtualNodes, type VirtualNodes } from 'kubelet-status-manager/virtual-nodes';
import { recordingLogger } from 'kubelet-status-manager/testing';
import { createSharingTransport } from '../../src/kube/http/transport.ts';
import { kubeConfigOf } from '../contract/kube-config-of.ts';
import { START_TIMEOUT_MS } from '../contract/servers.ts';
import { type ControlPlane, controlPlaneAvailable, startControlPlane } from '../support/control-plane.ts';
import { KubeHTTP } from '../support/kube-http.ts';
import { FakeCloud } from './fake-cloud.ts';

const { available, reason } = controlPlaneAvailable();
const nodeNames = Array.from({ length: 30 }, (_, index) => `virtual-${index}`);

let controlPlane: ControlPlane;
let http: KubeHTTP;
let relay: Server;
/** The open connections of the test's clients. */
const connections = new Set<Socket>();
let opened = 0;
let nodes: VirtualNodes | undefined;

beforeAll(async () => {
  if (!available) return;
  controlPlane = await startControlPlane();
  http = new KubeHTTP({ url: controlPlane.url, caData: controlPlane.caData, token: controlPlane.adminToken });
  relay = createServer((client) => {
    opened++;
    const server = connect(Number(new URL(controlPlane.url).port), '127.0.0.1');
    connections.add(client);
    client.on('close', () => connections.delete(client));
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const)
      from
        .on('error', () => {})
        .on('close', () => to.destroy())
        .pipe(to);
  });
  await once(relay.listen(0, '127.0.0.1'), 'listening');
}, START_TIMEOUT_MS);

afterEach(() => nodes?.stop());
afterAll(async () => {
  relay?.close();
  await http?.close();
  await controlPlane?.stop();
});

const kubeConfig = () => {
  const url = `https://127.0.0.1:${(relay.address() as AddressInfo).port}`;
  return kubeConfigOf({ url, caData: controlPlane.caData }, controlPlane.adminToken);
};

it.runIf(available)(
  `${nodeNames.length} virtual nodes take at most 20 connections, and go on when kube-apiserver is killed and started again${available ? '' : ` (skipped: ${reason})`}`,
  async () => {
    const cloud = new FakeCloud({ clock: systemClock, startMs: 50, stopMs: 50 });
    const logger = recordingLogger();
    nodes = createVirtualNodes({
      client: kubeConfig(),
      provider: cloud,
      listPeriodMs: 200,
      logger,
    });
    for (const nodeName of nodeNames)
      nodes.add({ nodeName, nodeStatus: () => ({ capacity: { cpu: '100', memory: '100Gi', pods: '1000' } }) });
    nodes.start();
    await nodes.whenReady();
    const run = async (prefix: string): Promise<void> => {
      for (const nodeName of nodeNames.slice(0, 3)) {
        const pods = '/api/v1/namespaces/default/pods';
        const metadata = { name: `${prefix}-${nodeName}` };
        const spec = { nodeName, automountServiceAccountToken: false, containers: [{ name: 'app', image: 'app:1' }] };
        await http.request('POST', pods, { body: { apiVersion: 'v1', kind: 'Pod', metadata, spec } });
        await expect
          .poll(() => http.request('GET', `${pods}/${metadata.name}`), { timeout: 60_000 })
          .toMatchObject({ body: { status: { phase: 'Running' } } });
      }
    };
    await run('before');
    expect(connections.size).toBeLessThanOrEqual(20);
    await controlPlane.killAPIServer();
    await expect.poll(() => connections.size).toBe(0);
    await controlPlane.startAPIServer();
    await run('after');
    expect(connections.size).toBeLessThanOrEqual(20);
    await nodes.stop();
    await expect.poll(() => connections.size).toBe(0);
    expect(logger.errors).toEqual([]);
  },
  180_000,
);

it.runIf(available)(
  'no heartbeat fails and no watch ends by the GOAWAY frames of kube-apiserver',
  async () => {
    // Not in the first test: a connection that got a GOAWAY lasts as long as its watches, beside the one that replaces it.
    await controlPlane.killAPIServer();
    await controlPlane.startAPIServer(['--goaway-chance=0.02']); // The most that kube-apiserver allows.
    const transport = createSharingTransport(kubeConfig(), { env: {} });
    const watches = await Promise.all(
      nodeNames.map(async (nodeName) => {
        const query = { watch: true, fieldSelector: `spec.nodeName=${nodeName}`, timeoutSeconds: 300 };
        const { body } = await transport.stream('/api/v1/pods', { query });
        const watch = { state: 'open' };
        const read = async (): Promise<void> => {
          for await (const _ of body);
          watch.state = 'ended';
        };
        void read().catch((error: Error) => (watch.state = error.message));
        return watch;
      }),
    );
    const before = opened;
    // Each request has the chance of a GOAWAY.
    for (let count = 0; count < 200 && opened <= before + 1; count++)
      await Promise.all(nodeNames.map((nodeName) => getLease(transport, nodeName)));
    expect(opened).toBeGreaterThan(before + 1);
    expect(watches.map(({ state }) => state)).toEqual(nodeNames.map(() => 'open'));
    await transport.close();
    await expect.poll(() => connections.size).toBe(0);
  },
  60_000,
);

function getLease(transport: ReturnType<typeof createSharingTransport>, nodeName: string): Promise<unknown> {
  const path = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases`;
  return transport.request('GET', path, { query: { fieldSelector: `metadata.name=${nodeName}` } });
}
