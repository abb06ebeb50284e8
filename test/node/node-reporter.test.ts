import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Node, NodeStatus, ObjectEvent } from 'kubelet-status-manager/agent';
import type { NodeCondition } from '../../src/node/registration/node-types.ts';
import { agentFeatures } from '../../src/node/registration/node-defaults.ts';
import { NodeReporter } from '../../src/node/registration/node-reporter.ts';
import type { NodeReporterOptions } from '../../src/node/registration/node-reporter-options.ts';
import { createKubeTransport } from '../../src/kube/http/transport.ts';
import type { KubeTransport } from 'kubelet-status-manager/http';
import { APIServer, FakeClock, settle } from 'kubelet-status-manager/testing';
import { recordingLogger } from '../../src/testing/recording-logger.ts';
import { linesAtInfo } from '../support/log-lines.ts';

const start = '2026-01-02T03:04:05Z';
const capacity = { cpu: '2', memory: '4Gi', pods: '110' };
const leasePath = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-a';

let clock: FakeClock;
let server: APIServer;
let transport: KubeTransport;
let admin: KubeTransport;
let logger: ReturnType<typeof recordingLogger>;
let events: ObjectEvent[];
let status: NodeStatus;
let readyErrors: string[];
let reporter: NodeReporter;
beforeEach(async () => {
  clock = new FakeClock(start);
  server = await APIServer.start({ clock, nodeUsers: ['node-a'] });
  transport = createKubeTransport(server.kubeconfig('node-a'));
  admin = createKubeTransport(server.kubeconfig());
  logger = recordingLogger();
  events = [];
  status = { capacity, addresses: [{ type: 'InternalIP', address: '10.0.0.1' }] };
  readyErrors = [];
  reporter = newReporter();
});
afterEach(async () => {
  await reporter.stop();
  await transport.close();
  await admin.close();
  await server.close();
});

function newReporter(overrides: Partial<NodeReporterOptions> = {}): NodeReporter {
  return new NodeReporter({
    nodeName: 'node-a',
    transport,
    clock,
    logger,
    random: () => 0.5,
    recorder: { event: (event) => events.push(event as ObjectEvent) },
    nodeStatus: () => status,
    readyErrors: () => readyErrors,
    ...overrides,
  });
}

async function read<T>(path: string): Promise<T> {
  return (await admin.request('GET', path)).json() as T;
}
const readNode = (): Promise<Node> => read('/api/v1/nodes/node-a');

async function started(overrides: Partial<NodeReporterOptions> = {}): Promise<void> {
  reporter = newReporter(overrides);
  reporter.start();
  await settle(clock, server);
}

/** What was asked of the API server during the time. */
async function requestsDuring(ms: number): Promise<string[]> {
  const before = server.requests.length;
  await clock.advanceAsync(ms, () => settle(clock, server));
  return server.requests
    .slice(before)
    .map(({ method, path }) => `${method} ${path.replace(/^.*\/(?=nodes|leases)/, '')}`);
}

async function condition(type: string): Promise<NodeCondition | undefined> {
  return (await readNode()).status?.conditions?.find((one) => one.type === type);
}

describe('TestUpdateNewNodeStatus', () => {
  it('a new Node has labels, taints, addresses, capacity and the conditions of the kubelet, Ready last', async () => {
    await started({ labels: { zone: 'z' }, taints: [{ key: 'mine', effect: 'NoSchedule' }] });
    const node = await readNode();
    const ready = await condition('Ready');
    expect(node.metadata.labels).toMatchObject({ zone: 'z', 'kubernetes.io/hostname': 'node-a' });
    expect(node.spec?.taints).toContainEqual({ key: 'mine', effect: 'NoSchedule' });
    expect(node.status).toMatchObject({ ...status, allocatable: capacity, nodeInfo: { kubeletVersion: '' } });
    expect(node.status?.conditions?.map(({ type, status }) => [type, status])).toEqual([
      ['MemoryPressure', 'False'],
      ['DiskPressure', 'False'],
      ['PIDPressure', 'False'],
      ['Ready', 'True'],
    ]);
    expect(ready).toEqual({
      type: 'Ready',
      status: 'True',
      reason: 'KubeletReady',
      message: 'kubelet is posting ready status',
      lastHeartbeatTime: start,
      lastTransitionTime: start,
    });
    expect(reporter.inspect()).toEqual({
      registered: true,
      nodeUID: node.metadata.uid,
      statusReportedAt: start,
      leaseRenewedAt: start,
      leaseDurationSeconds: 40,
    });
  });
});

describe('TestUpdateNodeStatusWithLease', () => {
  it('an unchanged status is written every 5 minutes, the first time after 2.5 to 7.5 minutes', async () => {
    await started({ random: () => 0 });
    const idle = await requestsDuring(149_000);
    expect(new Set(idle)).toEqual(new Set(['GET nodes/node-a?resourceVersion=0', 'PUT leases/node-a']));
    expect(idle).toHaveLength(28);
    expect(await requestsDuring(1000)).toContain('PATCH nodes/node-a/status');
    expect(await requestsDuring(299_000)).not.toContain('PATCH nodes/node-a/status');
    expect(await requestsDuring(1000)).toContain('PATCH nodes/node-a/status');
    expect((await condition('Ready'))?.lastHeartbeatTime).toBe('2026-01-02T03:11:35Z');
    expect((await condition('Ready'))?.lastTransitionTime).toBe(start);
  });

  it('a change is written at the next check; a quantity in another format does not count as one', async () => {
    await started();
    status = { ...status, capacity: { cpu: '2000m', memory: '4096Mi', pods: '110' } };
    expect(await requestsDuring(11_000)).not.toContain('PATCH nodes/node-a/status');
    status = { ...status, capacity: { cpu: '3', pods: '110' } };
    await requestsDuring(11_000);
    expect((await readNode()).status?.capacity).toEqual({ cpu: '3', pods: '110' });
    status = { ...status, capacity, nodeInfo: { kubeletVersion: 'v1' }, images: [{ names: ['a'] }] };
    await requestsDuring(11_000);
    expect((await readNode()).status).toMatchObject({ capacity, nodeInfo: { kubeletVersion: 'v1' }, images: [{}] });
  });

  it('two addresses of the same type are reported', async () => {
    await started();
    const addresses = [
      { type: 'InternalIP', address: 'fd00::1' },
      { type: 'InternalIP', address: '10.0.0.2' },
    ];
    status = { ...status, addresses };
    await requestsDuring(11_000);
    expect((await readNode()).status?.addresses).toEqual(addresses);
  });

  it('conditions of the hook are written, and foreign conditions are preserved', async () => {
    await started();
    const foreign = { type: 'NetworkUnavailable', status: 'False' };
    await admin.request('PATCH', '/api/v1/nodes/node-a/status', {
      body: { status: { conditions: [foreign] } },
      contentType: 'application/strategic-merge-patch+json',
    });
    status = { ...status, conditions: [{ type: 'DiskPressure', status: 'True', reason: 'Full', message: 'full' }] };
    await requestsDuring(11_000);
    expect(await condition('NetworkUnavailable')).toMatchObject(foreign);
    const since = '2026-01-02T03:04:15Z';
    expect(await condition('DiskPressure')).toMatchObject({
      status: 'True',
      reason: 'Full',
      lastTransitionTime: since,
    });
    expect((await condition('MemoryPressure'))?.lastTransitionTime).toBe(start);
  });
});

describe('TestReadyCondition', () => {
  it.each<[string, () => unknown, string]>([
    [
      'throws',
      () => {
        throw new Error('no sensor');
      },
      'readyErrors failed: no sensor',
    ],
    ['returns a text', () => 'disk is full', 'readyErrors failed: it did not return a list'],
  ])('a hook readyErrors that %s makes the node not ready', async (_, hook, message) => {
    await started({ readyErrors: hook as () => string[] });
    await requestsDuring(11_000);
    expect(await condition('Ready')).toMatchObject({ status: 'False', reason: 'KubeletNotReady', message });
  });

  it('a node that is not ready reports the reason and the time, and records an event', async () => {
    await started();
    readyErrors = ['the runtime is gone', 'no network'];
    await requestsDuring(11_000);
    const notReady = { status: 'False', reason: 'KubeletNotReady', message: '[the runtime is gone, no network]' };
    expect(await condition('Ready')).toMatchObject({ ...notReady, lastTransitionTime: '2026-01-02T03:04:15Z' });
    readyErrors = [];
    await requestsDuring(11_000);
    expect(await condition('Ready')).toMatchObject({ status: 'True', lastTransitionTime: '2026-01-02T03:04:25Z' });
    const object = { kind: 'Node', apiVersion: 'v1', name: 'node-a', uid: reporter.inspect().nodeUID };
    expect(events.filter(({ reason }) => reason.endsWith('Ready'))).toEqual([
      { object, type: 'Normal', reason: 'NodeNotReady', message: 'Node node-a status is now: NodeNotReady' },
      { object, type: 'Normal', reason: 'NodeReady', message: 'Node node-a status is now: NodeReady' },
    ]);
  });

  it('a node without capacity is not ready', async () => {
    status = { capacity: { cpu: '1' } };
    await started();
    const message = 'missing node capacity for resources: memory, pods';
    expect(await condition('Ready')).toMatchObject({ status: 'False', message });
  });

  it('conditions that the control plane wrote while the node was unreachable are corrected', async () => {
    await started();
    await admin.request('PATCH', '/api/v1/nodes/node-a/status', {
      body: { status: { conditions: [{ type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown' }] } },
      contentType: 'application/strategic-merge-patch+json',
    });
    await requestsDuring(11_000);
    expect(await condition('Ready')).toMatchObject({ status: 'True', reason: 'KubeletReady' });
  });
});

describe('events about the Node', () => {
  const reasons = (): string[] => events.splice(0).map(({ reason }) => reason);
  const patchNode = (body: object): Promise<unknown> =>
    admin.request('PATCH', '/api/v1/nodes/node-a', { body, contentType: 'application/merge-patch+json' });

  it('Starting and the conditions of the first status are recorded', async () => {
    await started();
    expect(events[0]).toEqual({
      object: { kind: 'Node', apiVersion: 'v1', name: 'node-a', uid: undefined },
      type: 'Normal',
      reason: 'Starting',
      message: 'Starting kubelet.',
    });
    expect(reasons().slice(1)).toEqual(['NodeHasSufficientMemory', 'NodeHasNoDiskPressure', 'NodeHasSufficientPID']);
    await requestsDuring(60_000);
    expect(reasons()).toEqual([]);
  });

  it('pressure and its end are recorded', async () => {
    await started();
    reasons();
    const pressure = (type: string): NodeCondition => ({ type, status: 'True', reason: 'r', message: 'm' });
    status = { ...status, conditions: ['MemoryPressure', 'DiskPressure', 'PIDPressure'].map(pressure) };
    await requestsDuring(11_000);
    expect(reasons()).toEqual(['NodeHasInsufficientMemory', 'NodeHasDiskPressure', 'NodeHasInsufficientPID']);
    status = { ...status, conditions: [] };
    await requestsDuring(11_000);
    expect(reasons()).toEqual(['NodeHasSufficientMemory', 'NodeHasNoDiskPressure', 'NodeHasSufficientPID']);
  });

  it('cordon and uncordon are recorded once each', async () => {
    await started();
    reasons();
    await patchNode({ spec: { unschedulable: true } });
    await requestsDuring(21_000);
    expect(events).toMatchObject([
      { type: 'Normal', reason: 'NodeNotSchedulable', message: 'Node node-a status is now: NodeNotSchedulable' },
    ]);
    reasons();
    await patchNode({ spec: { unschedulable: null } });
    await requestsDuring(21_000);
    expect(reasons()).toEqual(['NodeSchedulable']);
  });

  it('a reboot is recorded once', async () => {
    status = { ...status, nodeInfo: { bootID: 'first' } };
    await started();
    await reporter.stop();
    reasons();
    status = { ...status, nodeInfo: { bootID: 'second' } };
    await started();
    await requestsDuring(11_000);
    expect(events.filter(({ reason }) => reason === 'Rebooted')).toMatchObject([
      { type: 'Warning', message: 'Node node-a has been rebooted, boot id: second' },
    ]);
    expect((await readNode()).status?.nodeInfo).toMatchObject({ bootID: 'second' });
  });
});

describe('TestUpdateNodeStatus', () => {
  it('default labels that another writer removes are restored at the next check', async () => {
    await started();
    const { labels } = (await readNode()).metadata;
    await admin.request('PATCH', '/api/v1/nodes/node-a', {
      body: { metadata: { labels: { 'kubernetes.io/os': null, 'kubernetes.io/arch': 'pdp11' } } },
      contentType: 'application/merge-patch+json',
    });
    await requestsDuring(11_000);
    expect((await readNode()).metadata.labels).toEqual(labels);
  });

  it('the declared features are those of the agent and of the hook', async () => {
    status = { ...status, declaredFeatures: ['VolumeBindMountOptions', 'DRAOptionalNodeOperations'] };
    await started({ declaredFeatures: agentFeatures });
    expect((await readNode()).status?.declaredFeatures).toEqual([
      'DRAOptionalNodeOperations',
      'InPlacePodVerticalScalingInitContainers',
      'RestartAllContainersOnContainerExits',
      'VolumeBindMountOptions',
    ]);
    // The features of an earlier agent do not stay.
    status = { ...status, declaredFeatures: undefined };
    await requestsDuring(11_000);
    expect((await readNode()).status?.declaredFeatures).toEqual([
      'InPlacePodVerticalScalingInitContainers',
      'RestartAllContainersOnContainerExits',
    ]);
  });
});

describe('TestTryRegisterWithApiServer', () => {
  const existing = (labels = {}): Promise<unknown> =>
    admin.request('POST', '/api/v1/nodes', {
      body: { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-a', labels }, spec: { taints: [] } },
    });

  it('an existing Node is adopted: its default labels are updated, its taints and other labels preserved', async () => {
    await existing({ 'kubernetes.io/hostname': 'old', other: 'x', 'node.kubernetes.io/instance-type': 'gone' });
    const labels = { mine: 'y', 'node.kubernetes.io/instance-type': '' };
    await started({ labels, taints: [{ key: 'mine', effect: 'NoSchedule' }] });
    const node = await readNode();
    expect(node.metadata.labels).toMatchObject({ 'kubernetes.io/hostname': 'node-a', other: 'x' });
    expect(node.metadata.labels).not.toHaveProperty('mine');
    expect(node.metadata.labels).not.toHaveProperty(['node.kubernetes.io/instance-type']);
    expect(node.spec?.taints?.map(({ key }) => key)).toEqual(['node.kubernetes.io/not-ready']);
    expect(await condition('Ready')).toMatchObject({ status: 'True' });
  });

  it('adoptNode can change or refuse an existing Node', async () => {
    await existing();
    reporter = newReporter({ adoptNode: () => ({ metadata: { annotations: { seen: 'yes' } } }) });
    await reporter.register();
    expect((await readNode()).metadata.annotations).toEqual({ seen: 'yes' });
    const refusing = newReporter({
      adoptNode: ({ metadata }) => {
        throw new Error(`${metadata.name} is not ours`);
      },
    });
    await expect(refusing.register()).rejects.toThrow('node-a is not ours');
  });
});

describe('TestRegisterWithApiServer', () => {
  it('registration is retried with an exponential back-off from 100 ms, and its failure is logged once', async () => {
    let attempts = 0;
    let isDown = true;
    await started({
      transport: {
        request: (...args) => {
          attempts++;
          return isDown ? Promise.reject(new Error('connection refused')) : transport.request(...args);
        },
      },
    });
    expect(attempts).toBe(1);
    await clock.advanceAsync(99);
    expect(attempts).toBe(1);
    await clock.advanceAsync(1 + 200 + 400 + 800 + 1600 + 3200 + 6400 + 7000);
    expect(attempts).toBe(9);
    expect(reporter.inspect()).toMatchObject({ registered: false, statusFailingSince: start });
    expect(linesAtInfo(logger)).toEqual([
      {
        level: 'warn',
        message: 'Registering the Node failed',
        fields: { node: 'node-a', reason: 'connection refused', failingSince: start, failures: 1 },
      },
    ]);
    isDown = false;
    await requestsDuring(7000);
    expect(reporter.inspect()).toMatchObject({ registered: true, statusFailingSince: undefined });
    const message = 'Registering the Node succeeded again';
    expect(logger.lines.at(-1)).toMatchObject({ level: 'info', message, fields: { node: 'node-a' } });
  });
});

describe('TestUpdateNodeStatusError', () => {
  it('a status is tried five times in each period, from the second time on a new connection, with one warning', async () => {
    let isBroken = false;
    let attempts = 0;
    let closed = 0;
    await started({
      transport: {
        request: (method, path, options) => {
          if (!isBroken || !path.endsWith('nodes/node-a')) return transport.request(method, path, options);
          attempts++;
          return Promise.reject(new Error('connection reset'));
        },
        closeIdle: () => Promise.resolve(void closed++),
      },
    });
    isBroken = true;
    await requestsDuring(10_200);
    expect([attempts, closed]).toEqual([5, 4]);
    await requestsDuring(10_200);
    expect([attempts, closed]).toEqual([10, 8]);
    expect(logger.warnings).toHaveLength(1);
  });

  it('a hook that throws is logged once, and the previous status is kept', async () => {
    let isBroken = false;
    await started({
      nodeStatus: () => {
        if (isBroken) throw new Error('no disk');
        return status;
      },
    });
    isBroken = true;
    await requestsDuring(60_000);
    expect((await readNode()).status).toMatchObject({ capacity, addresses: status.addresses });
    expect(logger.warnings).toMatchObject([{ message: 'Hook nodeStatus failed', fields: { reason: 'no disk' } }]);
  });
});

describe('TestNewNodeLease', () => {
  it('the Lease belongs to the Node and is renewed every 10 s, with microseconds', async () => {
    await started();
    const { uid } = (await readNode()).metadata;
    expect(await read(leasePath)).toMatchObject({
      metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'node-a', uid }] },
      spec: { holderIdentity: 'node-a', leaseDurationSeconds: 40, renewTime: '2026-01-02T03:04:05.000000Z' },
    });
    // The period has up to 4 % of jitter.
    expect(await requestsDuring(10_199)).not.toContain('PUT leases/node-a');
    expect(await requestsDuring(1)).toContain('PUT leases/node-a');
    expect(await read(leasePath)).toMatchObject({ spec: { renewTime: '2026-01-02T03:04:15.200000Z' } });
  });
});

describe('TestUpdateUsingLatestLease', () => {
  it('a changed duration is written to the existing Lease', async () => {
    await started();
    await reporter.stop();
    await started({ leaseDurationSeconds: 60 });
    expect(await read(leasePath)).toMatchObject({ spec: { leaseDurationSeconds: 60 } });
  });

  it('a Lease that another writer changes is read again, and a deleted one is recreated', async () => {
    await started();
    await admin.request('PATCH', leasePath, {
      body: { metadata: { labels: { a: 'b' } } },
      contentType: 'application/merge-patch+json',
    });
    const conflict = await requestsDuring(10_200);
    expect(conflict.filter((one) => one.includes('leases'))).toEqual([
      'PUT leases/node-a',
      'GET leases/node-a',
      'PUT leases/node-a',
    ]);
    await admin.request('DELETE', leasePath);
    await requestsDuring(10_200);
    expect(await read(leasePath)).toMatchObject({ spec: { renewTime: '2026-01-02T03:04:25.400000Z' } });
    expect(reporter.inspect().leaseFailingSince).toBe(undefined);
  });
});

describe('a deleted Node', () => {
  it('is registered again within 15 s, with the conditions of the kubelet and a Lease that it owns', async () => {
    await started({ labels: { zone: 'z' } });
    const { uid } = (await readNode()).metadata;
    await admin.request('DELETE', '/api/v1/nodes/node-a');
    await admin.request('DELETE', leasePath);
    await requestsDuring(15_000);
    const node = await readNode();
    expect(node.metadata).toMatchObject({ labels: { zone: 'z' } });
    expect(node.metadata.uid).not.toBe(uid);
    expect(await condition('Ready')).toMatchObject({ status: 'True' });
    expect(reporter.inspect()).toMatchObject({ registered: true, nodeUID: node.metadata.uid });
    await requestsDuring(11_000);
    expect(await read(leasePath)).toMatchObject({ metadata: { ownerReferences: [{ uid: node.metadata.uid }] } });
    expect(reporter.inspect().statusFailingSince).toBeUndefined();
  });

  it('is not registered again by stop()', async () => {
    await started();
    await admin.request('DELETE', '/api/v1/nodes/node-a');
    await reporter.stop({ reportNotReady: true });
    expect(logger.warnings.map(({ message }) => message)).toEqual(['Reporting the Node status failed']);
  });
});

describe('stop', () => {
  it('stop ends the heartbeats, and with reportNotReady reports the Node as not ready', async () => {
    await started();
    await reporter.stop({ reportNotReady: true });
    expect(await condition('Ready')).toMatchObject({
      status: 'False',
      reason: 'KubeletNotReady',
      message: 'node is shutting down',
    });
    expect(clock.pendingTimers).toBe(0);
  });

  it('stop does not wait for an API server that does not respond', async () => {
    await started({ transport: { request: () => new Promise(() => {}) } });
    await reporter.stop({ reportNotReady: true });
    expect(clock.pendingTimers).toBe(0);
  });
});

it.each([
  ['nodeName', { nodeName: '' }],
  ['leaseDurationSeconds', { leaseDurationSeconds: 0 }],
  ['spreadHeartbeats', { spreadHeartbeats: 'yes' as unknown as boolean }],
])('an invalid %s is refused', (path, overrides) => {
  expect(() => newReporter(overrides)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION', path }));
});

describe('two agents of one node', () => {
  /** Reporters that were found to be the younger ones, in order. */
  let inUse: NodeReporter[];
  let reporters: NodeReporter[];
  beforeEach(() => {
    inUse = [];
    reporters = [];
  });
  afterEach(async () => {
    for (const one of reporters) await one.stop();
  });

  async function start(): Promise<NodeReporter> {
    const one = newReporter({ random: () => 0.1 * reporters.length });
    reporters.push(one);
    void one.whenInUse().then(() => inUse.push(one));
    one.start();
    await settle(clock, server);
    return one;
  }

  it('the younger one is told after three renewals of the older one, whose Lease goes on', async () => {
    const older = await start();
    await requestsDuring(60_000);
    const younger = await start();
    await requestsDuring(25_000);
    expect(inUse).toEqual([]);
    await requestsDuring(10_000);
    expect(inUse).toEqual([younger]);
    const error = await younger.whenInUse();
    expect(error).toMatchObject({
      code: 'NODE_IN_USE',
      message: 'An older process runs the node node-a and renews its Lease',
    });
    await younger.stop();
    await requestsDuring(120_000);
    expect(inUse).toEqual([younger]);
    expect(older.inspect().leaseFailingSince).toBeUndefined();
  });

  it('two that start at the same time do not both stop', async () => {
    const both = [newReporter(), newReporter({ random: () => 0.1 })];
    for (const one of both) {
      reporters.push(one);
      void one.whenInUse().then(() => {
        inUse.push(one);
        return one.stop();
      });
      one.start();
    }
    await requestsDuring(120_000);
    expect(inUse).toHaveLength(1);
  });

  it('restarts of one agent are not mistaken for another one, however quick and many', async () => {
    for (let i = 0; i < 10; i++) {
      const one = await start();
      await requestsDuring(i % 2 === 0 ? 100 : 12_000);
      await one.stop();
    }
    await start();
    await requestsDuring(120_000);
    expect(inUse).toEqual([]);
  });

  it('an agent that ends up to 20 s after the next one has started does not stop it', async () => {
    const older = await start();
    await requestsDuring(60_000);
    await start();
    await requestsDuring(20_000);
    await older.stop();
    await requestsDuring(120_000);
    expect(inUse).toEqual([]);
  });

  it('a Lease that others change or delete, and that a kubelet renews, is not one of an older agent', async () => {
    await start();
    await requestsDuring(20_000);
    for (let i = 0; i < 10; i++) {
      const lease = await read<{ metadata: { annotations: object } }>(leasePath);
      if (i === 5) await admin.request('DELETE', leasePath);
      else await admin.request('PUT', leasePath, { body: { ...lease, spec: { holderIdentity: `other-${i}` } } });
      await requestsDuring(10_500);
    }
    expect(inUse).toEqual([]);
  });
});
