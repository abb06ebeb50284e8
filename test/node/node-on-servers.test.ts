import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { APIEventRecorder, createEventClient, type Node } from 'kubelet-status-manager/agent';
import type { APIRequests } from '../../src/kube/client/api-requests.ts';
import { NodeReporter } from '../../src/node/registration/node-reporter.ts';
import { createKubeTransport } from '../../src/kube/http/transport.ts';
import type { KubeTransport } from 'kubelet-status-manager/http';
import { FakeClock } from 'kubelet-status-manager/testing';
import { recordingLogger } from '../../src/testing/recording-logger.ts';
import { kubeConfigOf } from '../contract/kube-config-of.ts';
import { type ContractServer, contractServers, START_TIMEOUT_MS } from '../contract/servers.ts';

const nodeName = 'node-c';
const leasePath = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${nodeName}`;

describe.each(contractServers)('Node, Lease and events as a node user: $name', (kind) => {
  let server: ContractServer;
  let transport: KubeTransport;
  const clock = new FakeClock(Date.now());
  const logger = recordingLogger();

  beforeAll(async () => {
    if (!kind.available) return;
    server = await kind.start();
    transport = createKubeTransport(kubeConfigOf(server, server.nodeToken(nodeName)));
  }, START_TIMEOUT_MS);
  afterAll(async () => {
    await transport?.close();
    await server?.stop();
  });

  const read = async <T>(path: string): Promise<T> => (await server.http.request('GET', path)).body as T;
  const readNode = (): Promise<Node> => read(`/api/v1/nodes/${nodeName}`);
  let inFlight = 0;
  const observed: APIRequests = {
    request(...args) {
      inFlight++;
      return transport.request(...args).finally(() => inFlight--);
    },
  };
  /** Moves the clock and waits until nothing is asked any more. */
  async function advance(ms: number): Promise<void> {
    clock.advance(ms);
    for (let quietTurns = 0; quietTurns < 10; quietTurns = inFlight === 0 ? quietTurns + 1 : 0) {
      await clock.yieldToEventLoop();
    }
  }

  it.runIf(kind.available)(
    'registers, renews, reports changes and its end; a second agent takes the Node up',
    async () => {
      const recorder = new APIEventRecorder({ client: createEventClient(observed), nodeName, logger, clock });
      let addresses = [{ type: 'InternalIP', address: '10.0.0.1' }];
      const create = (hostname: string): NodeReporter =>
        new NodeReporter({
          ...{ nodeName, transport: observed, logger, clock, recorder, random: () => 0.5 },
          labels: { 'kubernetes.io/hostname': hostname },
          taints: [{ key: 'example.com/agent', effect: 'NoSchedule' }],
          nodeStatus: () => ({ addresses, capacity: { cpu: '2', memory: '4Gi', pods: '110' } }),
        });
      const first = create(nodeName);
      first.start();
      await advance(0);
      const { uid } = (await readNode()).metadata;
      const lease = await read<{ metadata: object; spec: { renewTime: string } }>(leasePath);
      expect(lease).toMatchObject({
        metadata: { ownerReferences: [{ kind: 'Node', uid }] },
        spec: { holderIdentity: nodeName },
      });
      // The Lease has microseconds.
      expect(`${lease.spec.renewTime.slice(0, 19)}Z`).toBe(first.inspect().leaseRenewedAt);

      addresses = [
        { type: 'InternalIP', address: 'fd00::1' },
        { type: 'InternalIP', address: '10.0.0.2' },
      ];
      await advance(10_400);
      expect((await read<{ spec: object }>(leasePath)).spec).not.toEqual(lease.spec);
      expect(await readNode()).toMatchObject({
        spec: { taints: expect.arrayContaining([{ key: 'example.com/agent', effect: 'NoSchedule' }]) },
        status: {
          addresses,
          allocatable: { cpu: '2', memory: '4Gi', pods: '110' },
          conditions: [{}, {}, {}, { type: 'Ready', status: 'True', reason: 'KubeletReady' }],
        },
      });
      await first.stop({ reportNotReady: true });
      const ready = (await readNode()).status?.conditions?.at(-1);
      expect(ready).toMatchObject({ status: 'False', message: 'node is shutting down' });

      const second = create('other');
      await second.register();
      expect((await readNode()).metadata).toMatchObject({ uid, labels: { 'kubernetes.io/hostname': 'other' } });
      second.start();
      await advance(0);
      await second.stop();
      await recorder.stop();
      const { items } = await read<{ items: { involvedObject: object }[] }>('/api/v1/namespaces/default/events');
      const ofNode = items.filter(({ involvedObject }) => (involvedObject as { name?: string }).name === nodeName);
      expect(ofNode).toMatchObject([
        { reason: 'Starting' },
        { reason: 'NodeHasSufficientMemory' },
        { reason: 'NodeHasNoDiskPressure' },
        { reason: 'NodeHasSufficientPID' },
        { involvedObject: { kind: 'Node', uid }, reason: 'NodeNotReady', count: 1, source: { host: nodeName } },
        { reason: 'NodeReady', message: `Node ${nodeName} status is now: NodeReady` },
      ]);
      expect(logger.warnings).toEqual([]);
      expect(clock.pendingTimers).toBe(0);
    },
    START_TIMEOUT_MS,
  );
});
