import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../src/testing/fake-clock.ts';
import type { Json } from '../support/kube-http.ts';
import { PODS, podOf, startServer } from './harness.ts';

const asTable = { headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json' } };

/** The line that the real kube-apiserver v1.37.1 gives, without name and age. */
interface PodRow {
  readonly what: string;
  readonly spec?: object;
  readonly status: object;
  readonly isDeleted?: boolean;
  readonly row: readonly string[];
}

const nowhere = ['<none>', '<none>', '<none>', '<none>'];
const initContainer = { name: 'i', image: 'x' };
const sidecar = { ...initContainer, restartPolicy: 'Always' };
const twoContainers = {
  containers: [
    { name: 'c', image: 'x' },
    { name: 'd', image: 'x' },
  ],
};
const ended = (more: object) => ({ terminated: { exitCode: 0, ...more } });
const waiting = (reason: string) => ({ waiting: { reason } });
const running = { running: {} };
const initialized = { type: 'Initialized', status: 'True' };
const ready = { type: 'Ready', status: 'True' };

const podRows: PodRow[] = [
  { what: 'no status', status: {}, row: ['0/1', 'Pending', '0', ...nowhere] },
  { what: 'a reason', status: { phase: 'Failed', reason: 'Evicted' }, row: ['0/1', 'Evicted', '0', ...nowhere] },
  {
    what: 'scheduling gates',
    status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'SchedulingGated' }] },
    row: ['0/1', 'SchedulingGated', '0', ...nowhere],
  },
  {
    what: 'the second of two init containers',
    spec: { initContainers: [initContainer, { name: 'j', image: 'x' }] },
    status: {
      phase: 'Pending',
      initContainerStatuses: [
        { name: 'i', state: ended({ reason: 'Completed' }), restartCount: 2 },
        { name: 'j', state: waiting('PodInitializing') },
      ],
    },
    row: ['0/1', 'Init:1/2', '2', ...nowhere],
  },
  {
    what: 'an init container that backs off, with the restarts up to it',
    spec: { initContainers: [initContainer, { name: 'j', image: 'x' }] },
    status: {
      phase: 'Pending',
      initContainerStatuses: [
        {
          name: 'i',
          state: waiting('CrashLoopBackOff'),
          restartCount: 3,
          lastState: ended({ exitCode: 1, finishedAt: '2026-01-01T00:00:00Z' }),
        },
        { name: 'j', restartCount: 9, state: waiting('PodInitializing') },
      ],
    },
    row: ['0/1', 'Init:CrashLoopBackOff', '3 (5m30s ago)', ...nowhere],
  },
  ...(
    [
      [{ exitCode: 3 }, 'Init:ExitCode:3'],
      [{ exitCode: 3, signal: 9 }, 'Init:Signal:9'],
      [{ exitCode: 3, reason: 'Error' }, 'Init:Error'],
    ] as const
  ).map(([end, reason]) => ({
    what: `an init container that failed: ${reason}`,
    spec: { initContainers: [initContainer] },
    status: { phase: 'Failed', initContainerStatuses: [{ name: 'i', state: ended(end) }] },
    row: ['0/1', reason, '0', ...nowhere],
  })),
  {
    what: 'a sidecar, which counts',
    spec: { initContainers: [sidecar] },
    status: {
      phase: 'Running',
      conditions: [initialized, ready],
      initContainerStatuses: [
        {
          name: 'i',
          ready: true,
          started: true,
          restartCount: 2,
          state: running,
          lastState: ended({ finishedAt: '2026-01-01T00:05:25Z' }),
        },
      ],
      containerStatuses: [{ name: 'c', ready: true, restartCount: 1, state: running }],
    },
    row: ['2/2', 'Running', '3 (5s ago)', ...nowhere],
  },
  {
    what: 'a sidecar that is down',
    spec: { initContainers: [sidecar] },
    status: {
      phase: 'Running',
      conditions: [initialized, ready],
      initContainerStatuses: [{ name: 'i', started: false, restartCount: 2, state: waiting('CrashLoopBackOff') }],
      containerStatuses: [{ name: 'c', ready: true, restartCount: 1, state: running }],
    },
    row: ['1/2', 'Init:CrashLoopBackOff', '3', ...nowhere],
  },
  {
    what: 'a container that waits while a sidecar starts',
    spec: { initContainers: [sidecar] },
    status: {
      phase: 'Running',
      conditions: [initialized],
      initContainerStatuses: [{ name: 'i', started: false, restartCount: 2, state: running }],
      containerStatuses: [{ name: 'c', ready: true, restartCount: 1, state: waiting('ErrImagePull') }],
    },
    row: ['0/2', 'ErrImagePull', '3', ...nowhere],
  },
  {
    what: 'one container done, one running, not ready',
    spec: twoContainers,
    status: {
      phase: 'Running',
      containerStatuses: [
        { name: 'c', state: ended({ reason: 'Completed' }) },
        { name: 'd', ready: true, state: running },
      ],
    },
    row: ['1/2', 'NotReady', '0', ...nowhere],
  },
  {
    what: 'one container done, one running, ready',
    spec: twoContainers,
    status: {
      phase: 'Running',
      conditions: [ready],
      containerStatuses: [
        { name: 'c', state: ended({ reason: 'Completed' }) },
        { name: 'd', ready: true, state: running },
      ],
    },
    row: ['1/2', 'Running', '0', ...nowhere],
  },
  {
    what: 'the first container that has a reason',
    spec: twoContainers,
    status: {
      phase: 'Running',
      containerStatuses: [
        { name: 'c', state: ended({ reason: 'Error', exitCode: 1 }) },
        {
          name: 'd',
          restartCount: 4,
          lastState: ended({ finishedAt: '2025-12-01T00:00:00Z' }),
          state: waiting('CrashLoopBackOff'),
        },
      ],
    },
    row: ['0/2', 'Error', '4 (31d ago)', ...nowhere],
  },
  {
    what: 'a signal',
    status: { phase: 'Failed', containerStatuses: [{ name: 'c', state: ended({ signal: 9, exitCode: 137 }) }] },
    row: ['0/1', 'Signal:9', '0', ...nowhere],
  },
  {
    what: 'an exit code',
    status: { phase: 'Failed', containerStatuses: [{ name: 'c', state: ended({ exitCode: 7 }) }] },
    row: ['0/1', 'ExitCode:7', '0', ...nowhere],
  },
  {
    what: 'an IP and readiness gates',
    spec: { readinessGates: [{ conditionType: 'a' }, { conditionType: 'b' }] },
    status: {
      phase: 'Running',
      podIP: '10.0.0.1',
      podIPs: [{ ip: '10.0.0.1' }, { ip: 'fd00::1' }],
      conditions: [{ type: 'a', status: 'True' }],
    },
    row: ['0/1', 'Running', '0', '10.0.0.1', '<none>', '<none>', '1/2'],
  },
  {
    what: 'a deletion',
    spec: { nodeName: 'node-a' },
    status: { phase: 'Running' },
    isDeleted: true,
    row: ['0/1', 'Terminating', '0', '<none>', 'node-a', '<none>', '<none>'],
  },
  {
    what: 'a deletion on a lost node',
    spec: { nodeName: 'node-a' },
    status: { phase: 'Running', reason: 'NodeLost' },
    isDeleted: true,
    row: ['0/1', 'Unknown', '0', '<none>', 'node-a', '<none>', '<none>'],
  },
  {
    what: 'a deletion before initialisation',
    spec: { nodeName: 'node-a', initContainers: [initContainer] },
    status: { phase: 'Pending', initContainerStatuses: [{ name: 'i', state: {} }] },
    isDeleted: true,
    row: ['0/1', 'Terminating', '0', '<none>', 'node-a', '<none>', '<none>'],
  },
];

async function cellsOf(http: { request(method: string, path: string, options: object): Promise<Json> }, path: string) {
  return (await http.request('GET', path, asTable)).body.rows.map(({ cells }: Json) => cells);
}

describe("a pod's row shows", () => {
  it.for(podRows)('$what', async ({ spec, status, isDeleted, row }) => {
    const clock = new FakeClock('2026-01-01T00:00:00Z');
    const { server, http } = await startServer({ clock });
    server.pods.create(podOf('p', { nodeName: undefined, ...spec }));
    server.pods.patchStatus('default', 'p', { status });
    if (isDeleted) server.pods.delete('default', 'p');
    clock.advance(330_000);
    const [name, ready, reason, restarts, age, ...wide] = (await cellsOf(http, `${PODS}/p`))[0];
    expect([name, age]).toEqual(['p', '5m30s']);
    expect([ready, reason, restarts, ...wide]).toEqual(row);
  });
});

describe('the age of an object', () => {
  it.for([
    [0, '0s'],
    [119, '119s'],
    [120, '2m'],
    [125, '2m5s'],
    [3600, '60m'],
    [3 * 3600, '3h'],
    [3 * 3600 + 120, '3h2m'],
    [9 * 3600, '9h'],
    [2 * 86_400, '2d'],
    [2 * 86_400 + 3600, '2d1h'],
    [30 * 86_400, '30d'],
    [3 * 365 * 86_400, '3y'],
    [3 * 365 * 86_400 + 86_400, '3y1d'],
    [9 * 365 * 86_400, '9y'],
    [-60, '<invalid>'],
  ] as const)('after %i seconds is %s', async ([seconds, expected]) => {
    const clock = new FakeClock('2026-01-01T00:00:00Z');
    const { server, http } = await startServer({ clock });
    server.pods.create(podOf('p'));
    clock.setWallTime(clock.now() + seconds * 1000);
    expect((await cellsOf(http, PODS))[0][4]).toBe(expected);
  });
});

describe('Tables', () => {
  it("show a node's status, roles, version, addresses and system", async () => {
    const { http } = await startServer();
    const node = {
      metadata: {
        name: 'n',
        labels: {
          'node-role.kubernetes.io/control-plane': '',
          'node-role.kubernetes.io/a': '',
          'kubernetes.io/role': 'z',
        },
      },
      spec: { unschedulable: true },
      status: {
        conditions: [{ type: 'Ready', status: 'False' }],
        addresses: [
          { type: 'InternalIP', address: '1.2.3.4' },
          { type: 'ExternalIP', address: '4.3.2.1' },
        ],
        nodeInfo: { kubeletVersion: 'v1', osImage: 'os', kernelVersion: 'k', containerRuntimeVersion: 'r' },
      },
    };
    await http.request('POST', '/api/v1/nodes', { body: node });
    const age: unknown = expect.stringMatching(/^\d+s$/);
    const expected = ['n', 'NotReady,SchedulingDisabled', 'a,control-plane,z', age, 'v1', '1.2.3.4', '4.3.2.1'];
    expect((await cellsOf(http, '/api/v1/nodes'))[0]).toEqual([...expected, 'os', 'k', 'r']);
  });

  it('show events, leases, namespaces and Services', async () => {
    const clock = new FakeClock('2026-01-01T00:10:00Z');
    const { server, http } = await startServer({ clock });
    const event = {
      metadata: { name: 'e' },
      involvedObject: { kind: 'Pod', name: 'p', namespace: 'default', fieldPath: 'spec.containers{c}' },
      ...{ reason: 'R', message: 'm\n', type: 'Normal', source: { component: 'kubelet', host: 'h' }, count: 3 },
      ...{ firstTimestamp: '2026-01-01T00:00:00Z', lastTimestamp: '2026-01-01T00:09:00Z' },
    };
    await http.request('POST', '/api/v1/namespaces/default/events', { body: event });
    const row = ['60s', 'Normal', 'R', 'pod/p', 'spec.containers{c}', 'kubelet, h', 'm', '10m', 3, 'e'];
    expect(await cellsOf(http, '/api/v1/events')).toEqual([row]);
    const lease = { metadata: { name: 'node-a' }, spec: { holderIdentity: 'node-a' } };
    await http.request('POST', '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases', { body: lease });
    expect(await cellsOf(http, '/apis/coordination.k8s.io/v1/leases')).toEqual([['node-a', 'node-a', '0s']]);
    expect((await cellsOf(http, '/api/v1/namespaces'))[0]).toEqual(['default', 'Active', '0s']);
    const { hostname, port } = new URL(server.url);
    const service = ['kubernetes', 'ClusterIP', hostname, '<none>', `${port}/TCP`, '0s', '<none>'];
    expect(await cellsOf(http, '/api/v1/services')).toEqual([service]);
  });

  it.for([
    ['', { kind: 'PartialObjectMetadata', metadata: { name: 'p' } }],
    ['?includeObject=Metadata', { kind: 'PartialObjectMetadata' }],
    ['?includeObject=Object', { kind: 'Pod', status: { phase: 'Pending' } }],
  ] as const)('carry as much of each object as asked for: "%s"', async ([query, expected]) => {
    const { server, http } = await startServer();
    server.pods.create(podOf('p'));
    expect((await http.request('GET', PODS + query, asTable)).body.rows[0].object).toMatchObject(expected);
    expect((await http.request('GET', `${PODS}?includeObject=None`, asTable)).body.rows[0].object).toBeNull();
  });
});
