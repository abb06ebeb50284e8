import { describe, expect, it } from 'vitest';
import { StatusManagerError } from '../../src/shared/errors.ts';
import type { StatusManager } from '../../src/status-manager/status-manager.ts';
import type { Pod, PodStatusInput } from '../../src/kube/objects/types.ts';
import { getTestPod, TestManager, testPodUID } from './fixture.ts';

/** A manager with one cached status, which has been sent. */
async function settled(): Promise<TestManager> {
  const pod = getTestPod({ spec: { containers: [{ name: 'c' }] } });
  const t = new TestManager([pod]);
  t.podManager.addPod(pod);
  t.manager.setPodStatus(pod, {
    phase: 'Running',
    containerStatuses: [{ name: 'c', containerID: 'test://c', state: { running: {} } }],
  });
  t.manager.setPodResizePendingCondition(testPodUID, 'Deferred', 'm', 1);
  await t.manager.syncBatch(true);
  return t;
}

function everything({ manager }: TestManager): unknown {
  return [manager.inspect(), manager.getPodStatus(testPodUID), manager.getPodResizeConditions(testPodUID)];
}

async function expectRefused(call: (manager: StatusManager) => unknown, path: string): Promise<void> {
  const t = await settled();
  const before = structuredClone(everything(t));
  const error = await Promise.resolve()
    .then(() => call(t.manager))
    .then(
      () => 'nothing thrown',
      (thrown: unknown) => thrown,
    );
  expect(error).toBeInstanceOf(StatusManagerError);
  expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', path });
  expect((error as Error).message).toContain(path);
  expect(everything(t)).toEqual(before);
}

const noText: unknown[] = [undefined, null, '', 7, true, {}, [], Symbol('s')];
const noString: unknown[] = [undefined, null, 7, {}, []];
const noBoolean: unknown[] = [undefined, null, 0, 1, 'true', {}];
const noInteger: unknown[] = [undefined, null, '1', 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, 7n];

describe('an argument of the wrong kind', () => {
  type Calls = readonly [string, (manager: StatusManager, value: never) => unknown, string, readonly unknown[]];

  it.each<Calls>([
    ['getPodStatus', (m, v) => m.getPodStatus(v), 'podUID', noText],
    ['setContainerReadiness', (m, v) => m.setContainerReadiness(v, 'test://c', true), 'podUID', noText],
    ['setContainerReadiness', (m, v) => m.setContainerReadiness(testPodUID, v, true), 'containerID', noText],
    ['setContainerReadiness', (m, v) => m.setContainerReadiness(testPodUID, 'test://c', v), 'ready', noBoolean],
    ['setContainerStartup', (m, v) => m.setContainerStartup(v, 'test://c', true), 'podUID', noText],
    ['setContainerStartup', (m, v) => m.setContainerStartup(testPodUID, v, true), 'containerID', noText],
    ['setContainerStartup', (m, v) => m.setContainerStartup(testPodUID, 'test://c', v), 'started', noBoolean],
    ['setPodVolumeHealth', (m, v) => m.setPodVolumeHealth(v, 'data', []), 'podUID', noText],
    ['setPodVolumeHealth', (m, v) => m.setPodVolumeHealth(testPodUID, v, []), 'volumeName', noText],
    [
      'setPodVolumeHealth',
      (m, v) => m.setPodVolumeHealth(testPodUID, 'data', v),
      'conditions',
      [undefined, null, {}, 'x', 7, new Set()],
    ],
    [
      'setPodVolumeHealth',
      (m, v) => m.setPodVolumeHealth(testPodUID, 'data', [v]),
      'conditions[0]',
      [null, 'x', 7, []],
    ],
    [
      'removeOrphanedStatuses',
      (m, v) => m.removeOrphanedStatuses(v),
      'podUIDs',
      [undefined, null, testPodUID, 7, {}, [7], [null], new Map([[testPodUID, 1]])],
    ],
    ['subscribe', (m, v) => m.subscribe(v), 'listener', [undefined, null, {}, 'x', { onPodUpdated: 1 }]],
    ['syncBatch', (m, v) => m.syncBatch(v), 'all', noBoolean],
    ['flush', (m, v) => m.flush(v), 'deadlineMs', [...noInteger, -1, 2 ** 31]],
    ['whenWritten', (m, v) => m.whenWritten(v), 'podUID', noText],
    ['stop', (m, v) => m.stop(v), 'options', [null, 7, 'x', []]],
    ['stop', (m, v) => m.stop({ drain: v }), 'drain', [null, 1, 'true']],
    ['stop', (m, v) => m.stop({ drain: true, deadlineMs: v }), 'deadlineMs', [null, '1', 1.5, -1, 2 ** 31]],
    ['getPodResizeConditions', (m, v) => m.getPodResizeConditions(v), 'podUID', noText],
    ['isPodResizeDeferred', (m, v) => m.isPodResizeDeferred(v), 'podUID', noText],
    ['isPodResizeInfeasible', (m, v) => m.isPodResizeInfeasible(v), 'podUID', noText],
    ['setPodResizePendingCondition', (m, v) => m.setPodResizePendingCondition(v, '', '', 1), 'podUID', noText],
    ['setPodResizePendingCondition', (m, v) => m.setPodResizePendingCondition('u', v, '', 1), 'reason', noString],
    ['setPodResizePendingCondition', (m, v) => m.setPodResizePendingCondition('u', '', v, 1), 'message', noString],
    [
      'setPodResizePendingCondition',
      (m, v) => m.setPodResizePendingCondition('u', '', '', v),
      'observedGeneration',
      noInteger,
    ],
    ['setPodResizeInProgressCondition', (m, v) => m.setPodResizeInProgressCondition(v, '', '', 1), 'podUID', noText],
    ['setPodResizeInProgressCondition', (m, v) => m.setPodResizeInProgressCondition('u', v, '', 1), 'reason', noString],
    [
      'setPodResizeInProgressCondition',
      (m, v) => m.setPodResizeInProgressCondition('u', '', v, 1),
      'message',
      noString,
    ],
    [
      'setPodResizeInProgressCondition',
      (m, v) => m.setPodResizeInProgressCondition('u', '', '', v),
      'observedGeneration',
      noInteger,
    ],
    ['clearPodResizePendingCondition', (m, v) => m.clearPodResizePendingCondition(v), 'podUID', noText],
    [
      'clearPodResizePendingCondition',
      (m, v) => m.clearPodResizePendingCondition(testPodUID, v),
      'resolution',
      [null, '', 'Accepted', 'constructor', 7],
    ],
    ['clearPodResizeInProgressCondition', (m, v) => m.clearPodResizeInProgressCondition(v), 'podUID', noText],
    ['seed', (m, v) => m.seed(v), 'pods', [undefined, null, 'x', 7, {}]],
    ['seed', (m, v) => m.seed([v]), 'pods[0]', [undefined, null, 'x', 7, []]],
    ['backfillPodResizeConditions', (m, v) => m.backfillPodResizeConditions(v), 'pods', [undefined, null, 'x', 7, {}]],
    [
      'backfillPodResizeConditions',
      (m, v) => m.backfillPodResizeConditions([v]),
      'pods[0]',
      [undefined, null, 'x', []],
    ],
    ['getContainerResourceAllocation', (m, v) => m.getContainerResourceAllocation(v, 'c'), 'podUID', noText],
    ['getContainerResourceAllocation', (m, v) => m.getContainerResourceAllocation('u', v), 'containerName', noText],
    ['getPodResizeStatus', (m, v) => m.getPodResizeStatus(v), 'podUID', noText],
    ['setPodResizeStatus', (m, v) => m.setPodResizeStatus(v, 'Deferred'), 'podUID', noText],
    [
      'setPodResizeStatus',
      (m, v) => m.setPodResizeStatus('u', v),
      'resizeStatus',
      [undefined, null, 'deferred', '__proto__', 7],
    ],
  ])('%s, %#', async (_, call, path, values) => {
    for (const value of values) await expectRefused((manager) => call(manager, value as never), path);
  });
});

describe('an invalid pod', () => {
  const metadata = { uid: testPodUID, name: 'foo', namespace: 'new' };
  const methods: readonly [string, (manager: StatusManager, pod: Pod) => unknown][] = [
    ['setPodStatus', (manager, pod) => manager.setPodStatus(pod, { message: 'new' })],
    ['terminatePod', (manager, pod) => manager.terminatePod(pod)],
    ['setPodAllocation', (manager, pod) => manager.setPodAllocation(pod)],
  ];
  const pods: readonly [string, unknown][] = [
    ['pod', undefined],
    ['pod', null],
    ['pod', testPodUID],
    ['pod', 7],
    ['pod', [metadata]],
    ['pod.metadata', {}],
    ['pod.metadata', { metadata: 'foo' }],
    ['pod.metadata.uid', { metadata: { ...metadata, uid: undefined } }],
    ['pod.metadata.uid', { metadata: { ...metadata, uid: '' } }],
    ['pod.metadata.uid', { metadata: { ...metadata, uid: 7 } }],
    ['pod.metadata.name', { metadata: { ...metadata, name: '' } }],
    ['pod.metadata.namespace', { metadata: { ...metadata, namespace: null } }],
    ['pod.metadata.generation', { metadata: { ...metadata, generation: '1' } }],
    ['pod.metadata.generation', { metadata: { ...metadata, generation: 1.5 } }],
    ['pod.metadata.annotations', { metadata: { ...metadata, annotations: 'x' } }],
    ['pod.spec', { metadata, spec: 'x' }],
    ['pod.spec', { metadata, spec: [] }],
    ['pod.spec.containers', { metadata, spec: { containers: {} } }],
    ['pod.spec.containers[1]', { metadata, spec: { containers: [{ name: 'a' }, null] } }],
    ['pod.spec.containers[0].name', { metadata, spec: { containers: [{}] } }],
    ['pod.spec.initContainers', { metadata, spec: { initContainers: 'x' } }],
    ['pod.spec.initContainers[0].name', { metadata, spec: { initContainers: [{ name: 7 }] } }],
    ['pod.spec.ephemeralContainers', { metadata, spec: { ephemeralContainers: 7 } }],
    ['pod.spec.readinessGates', { metadata, spec: { readinessGates: 'x' } }],
    ['pod.spec.readinessGates[0]', { metadata, spec: { readinessGates: [null] } }],
    [
      'pod.spec.containers[0].restartPolicyRules',
      { metadata, spec: { containers: [{ name: 'c', restartPolicyRules: 'x' }] } },
    ],
    [
      'pod.spec.containers[0].restartPolicyRules[0]',
      { metadata, spec: { containers: [{ name: 'c', restartPolicyRules: [null] }] } },
    ],
    [
      'pod.spec.initContainers[0].restartPolicyRules[0].exitCodes',
      { metadata, spec: { initContainers: [{ name: 'c', restartPolicyRules: [{ exitCodes: 7 }] }] } },
    ],
    [
      'pod.spec.initContainers[0].restartPolicyRules[0].exitCodes.values',
      { metadata, spec: { initContainers: [{ name: 'c', restartPolicyRules: [{ exitCodes: { values: 7 } }] }] } },
    ],
  ];

  it.each(pods)('%s (%j)', async (path, pod) => {
    for (const [, call] of methods) await expectRefused((manager) => call(manager, pod as Pod), path);
  });

  it('one among several changes nothing for the others', async () => {
    const conditions = [{ type: 'PodResizePending', status: 'True', reason: 'Infeasible' }];
    const good = getTestPod({ status: { phase: 'Running', conditions } });
    await expectRefused((manager) => manager.backfillPodResizeConditions([good, {}]), 'pods[1].metadata');
    const fresh = getTestPod({ metadata: { uid: 'fresh' }, status: { phase: 'Running' } });
    await expectRefused((manager) => manager.seed([fresh, {}]), 'pods[1].metadata');
  });

  it('null in place of an absent field is valid', async () => {
    const { manager } = await settled();
    const pod = {
      metadata: { ...metadata, generation: null, annotations: null, deletionTimestamp: null },
      spec: { containers: null, initContainers: null, ephemeralContainers: null, readinessGates: null },
      status: null,
    };
    expect(manager.setPodStatus(pod as never, { message: 'new' }).changed).toBe(true);
    expect(manager.setPodStatus({ ...pod, spec: null } as never, { message: 'newer' }).changed).toBe(true);
    manager.terminatePod(pod as never);
    await manager.syncBatch(true);
  });
});

describe('an invalid status', () => {
  it.each<[string, unknown]>([
    ['status', null],
    ['status', []],
    ['status.phase', { phase: 7 }],
    ['status.conditions[0].type', { conditions: [{}] }],
    ['status.startTime', { startTime: 'today' }],
    ['status.containerStatuses[0].state', { containerStatuses: [{ name: 'c', state: { running: {}, waiting: {} } }] }],
    ['status.resources.limits.cpu', { resources: { limits: { cpu: 'much' } } }],
  ])('%s', async (path, status) => {
    await expectRefused((manager) => manager.setPodStatus(getTestPod(), status as PodStatusInput), path);
  });
});

describe('hostile input', () => {
  const hostileNames = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty'];

  it.each(hostileNames)('%s is an ordinary name or UID', async (name) => {
    const pod: Pod = {
      metadata: { uid: name, name, namespace: name, annotations: JSON.parse(`{"${name}": "x"}`) },
      spec: { containers: [{ name }], readinessGates: [{ conditionType: name }] },
      status: { containerStatuses: [{ name, state: { running: {} } }] },
    };
    const t = new TestManager([pod]);
    t.podManager.addPod(pod);
    expect(t.manager.getPodStatus(name)).toBeUndefined();
    t.manager.setPodStatus(pod, {
      conditions: [{ type: name, status: 'True' }],
      containerStatuses: [{ name, containerID: name, state: { running: {} } }],
      allocatedResources: JSON.parse(`{"${name}": "1"}`),
    });
    t.manager.setContainerReadiness(name, name, true);
    t.manager.setPodVolumeHealth(name, name, [{ status: name, reason: name }]);
    t.manager.setPodResizePendingCondition(name, name, name, 1);
    expect(t.manager.getPodStatus(name)?.conditions?.map(({ type, status }) => [type, status])).toEqual([
      [name, 'True'],
      ['Ready', 'True'],
      ['ContainersReady', 'True'],
    ]);
    expect((await t.manager.syncBatch(true)).tried).toBe(1);
    // The API server's own conditions are left to it.
    const { conditions: _, ...ours } = t.manager.getPodStatus(name)!;
    expect(t.client.pod(name, name)?.status).toMatchObject(ours);
    expect(Object.keys(Object.prototype)).toEqual([]);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it('fields named __proto__ reach the API server and pollute nothing', async () => {
    const t = new TestManager([getTestPod()]);
    const status = JSON.parse(
      '{"__proto__": {"polluted": 1}, "x-new": {"__proto__": {"polluted": 1}}, "allocatedResources": {"__proto__": "1"}}',
    );
    t.manager.setPodStatus(getTestPod(), status);
    await t.manager.syncBatch(true);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    expect((t.status() as Record<string, unknown>)['polluted']).toBeUndefined();
    expect(JSON.parse(JSON.stringify(t.client.pod('new', 'foo')?.status))).toEqual(
      JSON.parse(JSON.stringify(t.status())),
    );
    expect(Object.keys(t.client.pod('new', 'foo')!.status!)).toContain('__proto__');
  });

  it('a status that is nested too deeply or has a cycle is rejected', async () => {
    let deep: object = {};
    for (let i = 0; i < 50_000; i++) deep = { deep };
    await expectRefused((manager) => manager.setPodStatus(getTestPod(), { 'x-new': deep } as never), 'status.x-new');
    const cycle: { self?: object } = {};
    cycle.self = cycle;
    await expectRefused((manager) => manager.setPodStatus(getTestPod(), cycle as never), 'status.self');
  });

  it('nothing in the pod’s own status is an error', async () => {
    let deep: object = {};
    for (let i = 0; i < 50_000; i++) deep = { deep };
    const odd: unknown[] = [null, 7, 'x', [], { conditions: 'x' }, { conditions: [null, { type: deep }] }, { deep }];
    for (const status of [...odd, { containerStatuses: [{ name: 7, state: 'x' }] }, { startTime: 'x', phase: {} }]) {
      const pod = { ...getTestPod(), status } as Pod;
      const t = new TestManager([pod]);
      t.podManager.addPod(pod);
      t.manager.setPodStatus(pod, { message: 'new' });
      t.manager.terminatePod(pod);
      t.manager.backfillPodResizeConditions([pod]);
      await t.manager.syncBatch(true);
      expect(t.client.pod('new', 'foo')?.status?.message).toBe('new');
      expect((await t.manager.syncBatch(true)).tried).toBeLessThanOrEqual(1);
    }
  });

  it('a large status is accepted and sent', async () => {
    const spec = { containers: Array.from({ length: 2_000 }, (_, i) => ({ name: `c${i}` })) };
    const t = new TestManager([getTestPod({ spec })]);
    const containerStatuses = spec.containers.map(({ name }) => ({
      name,
      state: { terminated: { exitCode: 0, message: 'x'.repeat(1_000) } },
    }));
    t.manager.setPodStatus(getTestPod({ spec }), { containerStatuses, message: 'x'.repeat(100_000) });
    await t.manager.syncBatch(true);
    expect(t.client.pod('new', 'foo')?.status).toEqual(t.status());
    // 12 KiB are shared out.
    expect(t.status().containerStatuses?.[0]?.state.terminated?.message).toHaveLength(6);
  });
});
