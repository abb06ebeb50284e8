import { PassThrough } from 'node:stream';
import {
  createVirtualNodes,
  type PodProvider,
  type VirtualNodes,
  type VirtualNodesOptions,
} from 'kubelet-status-manager/virtual-nodes';
import { createPrometheusMetrics } from 'kubelet-status-manager/prometheus';
import { fault, settle } from 'kubelet-status-manager/testing';
import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { TestNodes } from './test-nodes.ts';

const nodeNames = ['node-a', 'node-b', 'node-c', 'node-d'];

/** A process that shares the nodes out with others. */
function startReplica(test: TestNodes, identity: string, options: Partial<VirtualNodesOptions> = {}): VirtualNodes {
  const nodes = createVirtualNodes({
    client: test.server.client(),
    provider: test.cloud,
    clock: test.clock,
    logger: test.logger,
    replicas: { identity, namespace: 'default' },
    ...options,
  });
  for (const nodeName of nodeNames) nodes.add(test.node(nodeName));
  nodes.start();
  return nodes;
}

/** The time passes only while no request waits for its response, so that no load of the machine makes one time out. */
function advanceOf(test: TestNodes): (ms: number) => Promise<void> {
  return (ms) => test.clock.advanceAsync(ms, () => settle(test.clock, test.server));
}

/** Advances until the Leases of the nodes are being written, which takes a second. */
async function untilTaking(test: TestNodes, advance: (ms: number) => Promise<void>): Promise<void> {
  const taking = test.server.faults.next({ verb: 'create', resource: 'leases', count: 4 }, fault.delay(1000));
  while (taking.remaining > 0) await advance(100);
}

const ran = (nodes: VirtualNodes): string[] => nodes.inspect().nodes.map(({ nodeName }) => nodeName);

describe('virtual nodes of several processes', () => {
  it('each run in one of them; those of one that ends are taken over, with a higher epoch, and no pod is created again (virtual-kubelet #875, #981, node-cli #32)', async () => {
    await using test = await TestNodes.start();
    const epochs: number[] = [];
    const deletePod = test.cloud.deletePod.bind(test.cloud);
    (test.cloud as PodProvider).deletePod = (pod, options) => {
      epochs.push(options.epoch);
      return deletePod(pod, options);
    };
    const created = () => test.cloud.calls.filter((call) => call.startsWith('createPod'));
    const a = startReplica(test, 'a');
    const b = startReplica(test, 'b');
    const both = [a, b];
    const advance = advanceOf(test);
    await advance(40_000);
    expect(both.flatMap(ran).sort()).toEqual(nodeNames);
    expect(a.inspect().replicas?.members).toHaveLength(2);

    for (const nodeName of nodeNames)
      test.server.pods.create({
        metadata: { name: `web-${nodeName}`, namespace: 'default' },
        spec: { nodeName, containers: [{ name: 'app', image: 'web:1' }] },
      });
    await advance(20_000);
    expect(nodeNames.map((nodeName) => test.status(`web-${nodeName}`)?.phase)).toEqual(Array(4).fill('Running'));
    expect(created()).toHaveLength(4);

    const [taken = ''] = ran(a);
    const { epoch: before = 0 } = a.inspect().replicas!.nodes.find(({ nodeName }) => nodeName === taken)!;
    const stopped = a.stop();
    await advance(10_000);
    await stopped;
    await advance(10_000);
    expect(ran(b).sort()).toEqual(nodeNames);
    test.server.pods.delete('default', `web-${taken}`);
    await advance(20_000);
    expect(test.pod(`web-${taken}`)).toBeUndefined();
    expect(epochs).toHaveLength(1);
    expect(epochs[0]).toBeGreaterThan(before);
    expect(created()).toHaveLength(4);
    await b.stop();
  });

  it('a node that moves while a pod waits for its next start: the new owner starts it once, counts on, and then waits as long as the first one did', async () => {
    await using test = await TestNodes.start();
    const { cloud, server, clock } = test;
    cloud.capabilities = { ...cloud.capabilities, restarts: 'node' };
    const advance = advanceOf(test);
    const [a, b] = [startReplica(test, 'a'), startReplica(test, 'b')];
    await advance(40_000);
    const [nodeName = ''] = ran(a);
    server.pods.create({
      metadata: { name: 'web', namespace: 'default' },
      spec: { nodeName, containers: [{ name: 'app', image: 'web:1' }] },
    });
    const ends: number[] = [];
    const untilEnd = async (): Promise<void> => {
      while (cloud.pod('web')?.state !== 'running') await advance(1000);
      await advance(6000);
      cloud.stop('web', 1);
      ends.push(clock.monotonicMs());
      await advance(6000);
    };
    const shown = () => test.status('web')?.containerStatuses?.[0];
    await untilEnd();
    await untilEnd();
    expect(shown()).toMatchObject({ restartCount: 1, state: { waiting: { reason: 'CrashLoopBackOff' } } });
    const stopped = a.stop();
    await advance(10_000);
    await stopped;
    await untilEnd();
    expect(ran(b)).toContain(nodeName);
    expect(shown()).toMatchObject({ restartCount: 2, state: { waiting: { reason: 'CrashLoopBackOff' } } });
    await untilEnd();
    expect(shown()?.restartCount).toBe(3);
    expect(cloud.starts.map(({ restartCount }) => restartCount)).toEqual([0, 1, 2, 3]);
    expect(cloud.starts[3]!.atMs - ends[2]!).toBeGreaterThanOrEqual(10_000);
    expect(cloud.starts[3]!.atMs - ends[2]!).toBeLessThan(20_000);
    await b.stop();
  });

  it.each([
    ['503', 'listing', { verb: 'list', resource: 'leases' }, 'Listing the Leases of replicas'],
    ['403', 'writing', { verb: 'update', resource: 'leases' }, 'Renewing the Lease of this replica'],
  ] as const)(
    'while %s keeps one from %s Leases, the log, the metrics and inspect() say what and since when',
    async (status, _, match, what) => {
      await using test = await TestNodes.start();
      const register = new Registry();
      const a = startReplica(test, 'a', { metrics: createPrometheusMetrics({ register }) });
      const advance = advanceOf(test);
      const metricOf = async (name: string) => {
        const text = await register.metrics();
        return Number(new RegExp(`^kubelet_node_agent_replica_${name} (.*)$`, 'm').exec(text)?.[1]);
      };
      await advance(30_000);
      expect(await metricOf('owned_nodes')).toBe(4);
      expect(await metricOf('member')).toBe(1);
      // A period is at most 2.2 s, and the time of the last renewal is in whole seconds.
      expect(await metricOf('renewal_age_seconds')).toBeLessThan(3.3);
      const failingFrom = test.clock.now();
      const failing = test.server.faults.next({ ...match, count: 1e9 }, fault.status(Number(status)));
      await advance(30_000);
      const { memberSince, failingSince, failureReason, renewedAt } = a.inspect().replicas!;
      expect({ memberSince, failureReason }).toEqual({
        memberSince: undefined,
        failureReason: expect.stringContaining(status),
      });
      expect(Date.parse(failingSince!) - failingFrom).toBeLessThan(3_000);
      expect(Date.parse(renewedAt!) - failingFrom).toBeLessThan(0);
      expect(await metricOf('owned_nodes')).toBe(0);
      expect(await metricOf('member')).toBe(0);
      expect(await metricOf('renewal_age_seconds')).toBeGreaterThan(29);
      const logged = test.logger.warnings.map(({ message }) => message);
      expect(logged).toContain(`${what} failed`);
      failing.cancel();
      await advance(20_000);
      expect(await metricOf('owned_nodes')).toBe(4);
      expect(await metricOf('taken_nodes_total')).toBe(8);
      await a.stop();
      expect(await metricOf('member')).toBeNaN();
    },
  );

  it('once the ownership may have ended, clients get no log, and can run and reach nothing, by this process', async () => {
    await using test = await TestNodes.start();
    const asked: string[] = [];
    const ask = (what: string) => (): Promise<never> => {
      asked.push(what);
      return Promise.reject(new Error(what));
    };
    const calls = { logs: ask('logs'), exec: ask('exec'), attach: ask('attach'), portForward: ask('portForward') };
    const a = startReplica(test, 'a', { provider: Object.assign(test.cloud, calls) });
    const advance = advanceOf(test);
    await advance(20_000);
    const spec = { nodeName: 'node-a', containers: [{ name: 'app', image: 'app:1' }] };
    const created = test.server.pods.create({ metadata: { name: 'web', namespace: 'default' }, spec });
    await advance(10_000);
    const io = { tty: false, stdin: undefined, stdout: undefined, stderr: undefined, onResize: () => {} };
    const callAll = async () => {
      const [pod] = await a.kubelet.listPods();
      const { id } = pod!.containers[0]!;
      const log = { previous: false, timestamps: false };
      return Promise.allSettled([
        a.kubelet.streamContainerLog!(id, log, {}),
        a.kubelet.exec!(id, ['sh'], io, {}),
        a.kubelet.attach!(id, io, {}),
        a.kubelet.portForward!(created.metadata.uid, 80, new PassThrough(), {}),
      ]);
    };
    await callAll();
    expect(asked).toEqual(['logs', 'exec', 'attach', 'portForward']);
    test.server.faults.next({ verb: 'update', resource: 'leases', count: 1e9 }, fault.status(503));
    // As after SIGSTOP: the time is over, and nothing has been done about it yet.
    test.clock.advance(30_000);
    for (const { reason } of (await callAll()) as PromiseRejectedResult[])
      expect(reason).toMatchObject({ message: 'node node-a is no longer owned by this process' });
    expect(asked).toHaveLength(4);
    const stopped = a.stop();
    await advance(60_000);
    await stopped;
  });

  it('does not run a node that is removed while it is taken', async () => {
    await using test = await TestNodes.start();
    const a = startReplica(test, 'a', { random: () => 0 });
    const advance = advanceOf(test);
    await advance(2000);
    await untilTaking(test, advance);
    await a.remove('node-b');
    await advance(10_000);
    expect(ran(a).sort()).toEqual(['node-a', 'node-c', 'node-d']);
    expect(test.logger.errors).toEqual([]);
    await a.stop();
  });

  it('run again if they are removed and added immediately afterwards', async () => {
    await using test = await TestNodes.start();
    const a = startReplica(test, 'a');
    const advance = advanceOf(test);
    await advance(20_000);
    const { epoch: before } = a.node('node-b')!;
    const removed = a.remove('node-b').then(() => a.add(test.node('node-b')));
    await advance(2000);
    await removed;
    await advance(10_000);
    expect(ran(a).sort()).toEqual(nodeNames);
    expect(a.node('node-b')?.epoch).toBeGreaterThan(before);
    await a.stop();
  });

  it('run if they are removed and added again while they are taken', async () => {
    await using test = await TestNodes.start();
    const a = startReplica(test, 'a', { random: () => 0 });
    const advance = advanceOf(test);
    await advance(2000);
    await untilTaking(test, advance);
    await a.remove('node-b');
    // The Lease has been written by then, and no list has been made since.
    await advance(1050);
    a.add(test.node('node-b'));
    await advance(10_000);
    expect(ran(a).sort()).toEqual(nodeNames);
    await a.stop();
  });

  it('refuses what contradicts several processes', async () => {
    await using test = await TestNodes.start();
    const options = { client: test.server.client(), provider: test.cloud, logger: test.logger };
    const replicas = { identity: 'a', namespace: 'default' };
    expect(() => createVirtualNodes({ ...options, replicas: { ...replicas, namespace: 'A' } })).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', path: 'namespace' }),
    );
    const nodes = createVirtualNodes({ ...options, replicas });
    expect(() => nodes.add({ nodeName: 'node-a', epoch: 1 })).toThrow(expect.objectContaining({ path: 'epoch' }));
    expect(() => nodes.add({ nodeName: 'node-a', taints: 'x' as never })).toThrow(
      expect.objectContaining({ path: 'taints' }),
    );
    // The Lease of the node has a longer name.
    const nodeName = 'a'.repeat(171);
    expect(() => nodes.add({ nodeName })).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', path: 'nodeName' }),
    );
    nodes.add({ nodeName: 'node-a' });
    await nodes.remove('node-a');
    await nodes.stop();
  });
});
