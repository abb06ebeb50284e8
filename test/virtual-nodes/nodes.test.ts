import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StatusManagerError } from 'kubelet-status-manager';
import type { NodeStatus } from 'kubelet-status-manager/agent';
import { createPrometheusMetrics } from 'kubelet-status-manager/prometheus';
import { createVirtualNodes, ProviderError, type VirtualNodesOptions } from 'kubelet-status-manager/virtual-nodes';
import { fault, settle } from 'kubelet-status-manager/testing';
import { Registry } from 'prom-client';
import { podOf, TestNodes } from './test-nodes.ts';

let test: TestNodes;
beforeEach(async () => {
  test = await TestNodes.start();
});
afterEach(() => test[Symbol.asyncDispose]());

interface Condition {
  readonly type: string;
  readonly status: string;
}

const readyOf = (nodeName: string): string | undefined => {
  const { status } = (test.server.nodes.get(nodeName) ?? {}) as {
    readonly status?: { readonly conditions?: Condition[] };
  };
  return status?.conditions?.find(({ type }) => type === 'Ready')?.status;
};

const twentyNodes = Array.from({ length: 20 }, (_, i) => `node-${i}`);

/** The same numbers in each test. */
function randomNumbers(): () => number {
  let state = 1;
  return () => (state = (state * 16_807) % 2_147_483_647) / 2_147_483_647;
}

describe('virtual nodes', () => {
  it('are added and removed at run time; the pods of a removed node keep running, and it can be added again', async () => {
    const nodes = await test.startNodes(['node-a']);
    nodes.add(test.node('node-b'));
    await test.advance(1000);
    await nodes.node('node-b')?.whenReady();
    await test.create(podOf('web'), 'node-b');
    await test.advance(7000);
    expect(test.status('web')?.phase).toBe('Running');

    const removed = nodes.remove('node-b');
    await test.advance(2000);
    await removed;
    expect(nodes.node('node-b')).toBeUndefined();
    test.server.pods.delete('default', 'web', { gracePeriodSeconds: 1 });
    await test.advance(20_000);
    expect(test.cloud.names).toEqual(['web']);
    expect(readyOf('node-a')).toBe('True');

    nodes.add(test.node('node-b'));
    await test.advance(10_000);
    expect(test.cloud.names).toEqual([]);
    expect(test.cloud.callsOf('createPod')).toHaveLength(1);
  });

  it('share one list of the cloud', async () => {
    await test.startNodes(Array.from({ length: 4 }, (_, i) => `node-${i}`));
    await test.nodes.whenReady();
    await test.advance(20_000);
    expect(test.cloud.callsOf('listPods').length).toBeLessThan(8);
  });

  it('spread their heartbeats over the period, also if all start together', async () => {
    await test.startNodes(twentyNodes, { random: randomNumbers() });
    await test.advance(15_000);
    for (let second = 0; second < 10; second++) {
      const before = test.writes.length;
      await test.advance(1000);
      const renewals = test.writes.slice(before).filter((write) => write.includes('/leases/'));
      expect(renewals.length).toBeLessThan(8);
    }
  });

  it('send the heartbeats of a second together, so that the process wakes up less often', async () => {
    await test.startNodes(twentyNodes, { random: randomNumbers() });
    await test.advance(15_000);
    const tenths = new Set<number>();
    for (let tenth = 0; tenth < 100; tenth++) {
      const before = test.writes.length;
      await test.advance(100);
      if (test.writes.slice(before).some((write) => write.includes('/leases/'))) tenths.add(tenth % 10);
    }
    // Two: a tenth may begin within the same millisecond.
    expect(tenths.size).toBeLessThanOrEqual(2);
  });

  it('renew a Lease after a quarter of its duration, also if that is less than a second', async () => {
    await test.startNodes([{ ...test.node('node-a'), leaseDurationSeconds: 1 }], { random: randomNumbers() });
    await test.advance(5000);
    const before = test.writes.length;
    await test.advance(10_000);
    const renewals = test.writes.slice(before).filter((write) => write.includes('/leases/'));
    expect(renewals.length).toBeGreaterThanOrEqual(38);
  });

  it('write the Events of their start after all that their pods wait for', async () => {
    const nodes = await test.startNodes(['node-a', 'node-b']);
    await nodes.whenReady();
    const events = (): string[] => test.writes.filter((write) => write.includes('/events '));
    expect(events()).toEqual([]);
    await test.advance(3000);
    expect(events()).toHaveLength(8);
  });

  it('have addresses that kube-apiserver reaches by default: no name, which no DNS server knows', async () => {
    await test.startNodes();
    expect(test.server.nodes.get('node-a')).toMatchObject({
      metadata: { labels: { 'kubernetes.io/hostname': 'node-a' } },
      status: { addresses: [{ type: 'InternalIP', address: '10.1.2.3' }] },
    });
  });

  it('tell the provider the epoch of their node', async () => {
    const epochs: number[] = [];
    const { createPod } = test.cloud;
    test.cloud.createPod = (pod, options) => {
      epochs.push(options.epoch);
      return createPod.call(test.cloud, pod, options);
    };
    await test.startNodes([{ ...test.node('node-a'), epoch: 7 }, 'node-b']);
    await test.create(podOf('web'), 'node-a');
    await test.create(podOf('db'), 'node-b');
    expect(epochs).toEqual([7, 0]);
  });

  it('admit pods as canAdmitPod says', async () => {
    const refused = { admit: false, reason: 'NoGPU', message: 'This node has no GPU' } as const;
    await test.startNodes([{ ...test.node('node-a'), canAdmitPod: () => refused }]);
    await test.create(podOf());
    await test.advance(12_000);
    expect(test.status('web')).toMatchObject({ phase: 'Failed', reason: 'NoGPU' });
    expect(test.cloud.callsOf('createPod')).toEqual([]);
  });

  it('read Secrets and ConfigMaps one by one, never all of the cluster (virtual-kubelet #210)', async () => {
    await test.startNodes(['node-a', 'node-b']);
    await test.create(podOf());
    await test.advance(10_000);
    const lists = test.server.requests.filter(
      ({ method, path }) => method === 'GET' && /\/(secrets|configmaps)(\?|$)/.test(path),
    );
    expect(lists).toEqual([]);
  });

  it('have metrics, which are added up', async () => {
    const register = new Registry();
    await test.startNodes(['node-a', 'node-b'], { metrics: createPrometheusMetrics({ register }) });
    await test.create(podOf('web'), 'node-a');
    await test.create(podOf('db'), 'node-b');
    test.cloud.react('createPod', () => new ProviderError('the cloud is down', { retryAfterMs: 60_000 }));
    await test.create(podOf('waiting'), 'node-b');
    await test.advance(7000);
    const valueOf = async (name: string): Promise<number | undefined> => {
      const { values } = (await register.getSingleMetric(name)?.get()) ?? { values: [] };
      return values[0]?.value;
    };
    expect(await valueOf('kubelet_running_pods')).toBe(2);
    expect(await valueOf('kubelet_node_agent_node_registered')).toBe(2);
    expect(await valueOf('kubelet_node_agent_failing_pods')).toBe(1);
    expect(await valueOf('kubelet_node_agent_refused_manifests')).toBeUndefined();
    // With `notifyPods`, lists are a minute apart, which would be an alert of an agent.
    expect(await valueOf('kubelet_node_agent_relist_age_seconds')).toBeUndefined();
    expect(await register.getSingleMetricAsString('kubelet_runtime_operations_errors_total')).toContain(
      'kubelet_runtime_operations_errors_total{operation_type="create_pod"} 1',
    );
    await test.stopNodes();
    expect(await valueOf('kubelet_running_pods')).toBeUndefined();
  });

  it('check their permissions once for all', async () => {
    test.server.faults.next({ resource: 'selfsubjectaccessreviews', count: 1e9 }, fault.status(401));
    await test.startNodes(['node-a', 'node-b']);
    await test.advance(1000);
    const messages = test.logger.warnings.map(({ message }) => message);
    expect(messages.filter((message) => message === 'Failed to check the permissions')).toHaveLength(1);
  });

  it('of the user of a node are all checked for three nodes only', async () => {
    const userInfo = { username: 'system:node:node-0', groups: ['system:nodes'] };
    const body = fault.body(JSON.stringify({ status: { userInfo } }));
    test.server.faults.next({ resource: 'selfsubjectreviews', count: Infinity }, body);
    await test.startNodes(Array.from({ length: 5 }, (_, i) => `node-${i}`));
    await test.advance(1000);
    const reviewed = test.server.requests.flatMap(
      ({ path, body }) => (path.endsWith('selfsubjectaccessreviews') && /"name":"(node-\d)"/.exec(body)?.[1]) || [],
    );
    expect([...new Set(reviewed)]).toEqual(['node-0', 'node-1', 'node-2']);
  });

  it('ask for no permission that they do not need', async () => {
    await test.startNodes();
    await test.advance(1000);
    const reviews = test.server.requests.filter(({ path }) => path.includes('selfsubjectaccessreviews'));
    expect(reviews.length).toBeGreaterThan(10);
    expect(reviews.filter(({ body }) => body.includes('runtimeclasses'))).toEqual([]);
  });

  it('declare only the features that the provider has', async () => {
    const featuresOf = () =>
      (test.server.nodes.get('node-a') as { status?: NodeStatus }).status?.declaredFeatures ?? [];
    await test.startNodes();
    expect(featuresOf()).toEqual([
      'InPlacePodLevelResourcesVerticalScaling',
      'InPlacePodVerticalScalingInitContainers',
    ]);
    await test.stopNodes();
    await test.startNodes(['node-a'], { provider: test.cloud.asProvider() });
    expect(featuresOf()).toEqual([]);
  });

  it('that somebody deletes are registered again within 15 s, and their pods keep running', async () => {
    await test.startNodes();
    await test.create(podOf());
    await test.advance(7000);
    test.server.nodes.delete('node-a');
    await test.advance(15_000);
    expect(readyOf('node-a')).toBe('True');
    expect(test.status('web')?.phase).toBe('Running');
    expect(test.cloud.names).toEqual(['web']);
  });

  it('that somebody marks as not ready are ready again after 10 s (virtual-kubelet #956)', async () => {
    await test.startNodes();
    await test.advance(1000);
    const conditions = [{ type: 'Ready', status: 'False', reason: 'Mine' }];
    test.server.nodes.patchStatus('node-a', { status: { conditions } });
    expect(readyOf('node-a')).toBe('False');
    await test.advance(10_500);
    expect(readyOf('node-a')).toBe('True');
  });

  it('stay ready while the cloud is down, unless readyErrors says otherwise', async () => {
    test.cloud.react('listPods', () => new Error('the cloud is down'));
    const readyErrors = (): string[] => {
      const { failure } = test.nodes.inspect().list;
      return failure === undefined ? [] : [`the cloud fails: ${failure.reason}`];
    };
    await test.startNodes(['node-a', { ...test.node('node-b'), readyErrors }]);
    await test.advance(60_000);
    expect([readyOf('node-a'), readyOf('node-b')]).toEqual(['True', 'False']);
  });
});

describe('stop', () => {
  it('leaves no timer, ends calls in progress, and loses no status with drain', async () => {
    await test.startNodes(['node-a', 'node-b']);
    await test.create(podOf('web'), 'node-a');
    await test.advance(7000);
    test.cloud.latencyMs = 30_000;
    await test.create(podOf('slow'), 'node-b');
    const outage = test.server.faults.next({ verb: 'patch', resource: 'pods', count: 1e9 }, fault.status(503));
    test.cloud.report('web', { message: 'it changed' });
    test.cloud.latencyMs = 0;
    await test.advance(6000);
    outage.cancel();
    await test.stopNodes({ drain: true });
    expect(test.status('web')?.message).toBe('it changed');
    expect(test.nodes.inspect()).toMatchObject({
      state: 'stopped',
      nodes: [{ state: 'stopped' }, { state: 'stopped' }],
    });
    expect(test.clock.pendingTimers).toBe(0);
  });

  it('leaves no timer, although the provider does not settle a call', async () => {
    const provider = test.cloud.asProvider({ createPod: () => new Promise(() => {}) });
    await test.startNodes(['node-a'], { provider });
    await test.create(podOf());
    expect(test.nodes.inspect().callsInProgress).toBe(1);
    await test.stopNodes();
    expect(test.nodes.inspect().callsInProgress).toBe(0);
    expect(test.clock.pendingTimers).toBe(0);
  });

  it('before start() needs no request', async () => {
    await test.startNodes();
    await test.stopNodes();
    const nodes = createVirtualNodes({ client: test.server.client(), provider: test.cloud, logger: test.logger });
    nodes.add(test.node('node-b'));
    const node = nodes.node('node-b')!;
    await nodes.stop();
    await expect(node.whenReady()).rejects.toMatchObject({ code: 'INVALID_STATE' });
    expect(() => nodes.start()).toThrow(expect.objectContaining({ code: 'INVALID_STATE' }) as Error);
    expect(() => nodes.add(test.node('node-c'))).toThrow(expect.objectContaining({ code: 'INVALID_STATE' }) as Error);
    expect(test.server.nodes.get('node-b')).toBeUndefined();
  });
});

describe('options', () => {
  const options = (changed: object): VirtualNodesOptions => ({
    ...({ client: test.server.client(), provider: test.cloud } as const),
    ...changed,
  });

  it.each([
    ['provider', { provider: {} }],
    ['provider', { provider: undefined }],
    ['provider.updatePod', { provider: { createPod() {}, deletePod() {}, listPods() {}, updatePod: 1 } }],
    ['provider.portForward', { provider: { createPod() {}, deletePod() {}, listPods() {}, portForward: 1 } }],
    ['client', { client: undefined }],
    ['listPeriodMs', { listPeriodMs: 0 }],
    ['callTimeoutMs', { callTimeoutMs: Number.NaN }],
    ['concurrency', { concurrency: 1.5 }],
    ['lost.afterLists', { lost: { afterLists: 0 } }],
    ['lost.action', { lost: { action: 'forget' } }],
    ['lost.often', { lost: { often: 1 } }],
    ['eventRecorder', { eventRecorder: {} }],
    ['statusManager.client', { statusManager: { client: 1 } }],
    ['nodeName', { nodeName: 'node-a' }],
  ])('%s is checked', (path, changed) => {
    expect(() => createVirtualNodes(options(changed))).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', path }) as Error,
    );
  });

  it.each([
    ['nodeName', { nodeName: 'Node A' }],
    ['nodeName', { nodeName: 'taken' }],
    ['addresses', { addresses: ['host'] }],
    ['labels', { labels: { a: 1 } }],
    ['taints', { taints: [{}] }],
    ['nodeStatus', { nodeStatus: 1 }],
    ['canAdmitPod', { canAdmitPod: 1 }],
    ['epoch', { epoch: -1 }],
    ['runtime', { runtime: {} }],
  ])('%s of a node is checked, and the node is not added', async (path, changed) => {
    const nodes = createVirtualNodes(options({}));
    nodes.add({ nodeName: 'taken' });
    expect(() => nodes.add({ nodeName: 'node-a', ...(changed as object) })).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', path }) as Error,
    );
    expect(nodes.inspect().nodes.map(({ nodeName }) => nodeName)).toEqual(['taken']);
    await nodes.stop();
  });
});

it('a node that add() refuses leaves nothing behind: no list is made for it', async () => {
  await test.startNodes(['node-a'], { listPeriodMs: 60_000 });
  await test.advance(5000);
  const lists = test.cloud.callsOf('listPods').length;
  for (const wrong of [{ journal: 1 }, { labels: { a: 1 } }, { taints: [{}] }, { leaseDurationSeconds: -1 }])
    expect(() => test.nodes.add({ ...test.node('node-b'), ...(wrong as object) })).toThrow(StatusManagerError);
  await test.advance(5000);
  expect(test.cloud.callsOf('listPods')).toHaveLength(lists);
  test.nodes.add(test.node('node-b'));
  await test.advance(5000);
  expect(test.cloud.callsOf('listPods')).toHaveLength(lists + 1);
});

describe('under a limit of requests, virtual nodes', () => {
  const statusWrites = (): string[] => test.writes.filter((write) => /^PATCH .*\/pods\//.test(write));
  const create = (name: string, nodeName: string) =>
    test.server.pods.create({ metadata: { name, namespace: 'default' }, spec: { ...podOf().spec!, nodeName } });
  /** The managers have something to send all the time. */
  const advance = (ms: number): Promise<void> => test.clock.advanceAsync(ms, () => settle(test.clock, test.server));

  it('have qps and burst together, and take turns', async () => {
    await test.startNodes(['node-a', 'node-b', 'node-c'], { statusManager: { qps: 1, burst: 1 } });
    for (let i = 0; i < 40; i++) create(`many-${i}`, i % 2 === 0 ? 'node-a' : 'node-b');
    create('one', 'node-c');
    await advance(20_000);
    expect(test.status('one')?.phase).toBe('Running');
    expect(statusWrites().length).toBeLessThanOrEqual(21);
  });

  it.each([
    ['of one process', {}],
    ['with replicas', { replicas: { identity: 'a', namespace: 'default' } }],
  ])('%s pause together when the API server throttles two pods', async (_, options) => {
    await test.startNodes(['node-a', 'node-b', 'node-c'], options);
    await advance(40_000);
    test.server.faults.next({ verb: 'patch', resource: 'pods', count: 2 }, fault.status(429, { retryAfterMs: 30_000 }));
    create('a', 'node-a');
    create('b', 'node-b');
    await advance(1000);
    create('c', 'node-c');
    await advance(20_000);
    expect(statusWrites().map((write) => write.slice(-3))).toEqual(['429', '429']);
    await advance(20_000);
    expect(['a', 'b', 'c'].map((name) => test.status(name)?.phase)).toEqual(['Running', 'Running', 'Running']);
  });
});

it('of two processes with the same node and without replicas, the younger one stops the node', async () => {
  const older = await test.startNodes(['node-a'], { random: () => 0.5 });
  await test.advance(20_000);
  const younger = await test.startNodes(['node-a']);
  await test.advance(60_000);
  const states = [older, younger].map((nodes) => nodes.inspect().nodes.map(({ state }) => state));
  expect(states).toEqual([['running'], ['stopped']]);
  expect(test.logger.errors).toContainEqual(
    expect.objectContaining({ message: 'Stopping virtual node: the node is in use' }),
  );
  await older.stop();
});

it('a Node shows the platform that its provider says, or linux, and nothing of the machine that the process runs on', async () => {
  const nodeInfo = { operatingSystem: 'windows', architecture: 'arm64', kubeletVersion: 'v1.2.3' };
  const own = { nodeName: 'node-b', nodeStatus: () => ({ capacity: {}, nodeInfo }) };
  await test.startNodes(['node-a', own, { nodeName: 'node-c' }]);
  expect(test.nodes.node('node-a')?.getNode()).toMatchObject({
    metadata: { labels: { 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'amd64' } },
    status: {
      nodeInfo: {
        ...{ operatingSystem: 'linux', architecture: 'amd64', kernelVersion: '', osImage: '' },
        kubeletVersion: expect.stringMatching(/^v1\.\d+\.\d+-kubelet-status-manager-/) as string,
      },
    },
  });
  const bare = test.nodes.node('node-c')?.getNode();
  expect(bare?.status?.capacity ?? {}).toEqual({});
  expect(bare?.status?.conditions).toContainEqual(
    expect.objectContaining({
      ...{ type: 'Ready', status: 'False', message: 'missing node capacity for resources: cpu, memory, pods' },
    }),
  );
  expect(test.nodes.node('node-b')?.getNode()).toMatchObject({
    metadata: { labels: { 'kubernetes.io/os': 'windows', 'kubernetes.io/arch': 'arm64' } },
    status: { nodeInfo: { ...nodeInfo, kernelVersion: '', osImage: '' } },
  });
});
