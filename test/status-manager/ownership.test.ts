import { describe, expect, it } from 'vitest';
import type { Pod, PodStatus, PodStatusInput } from '../../src/kube/objects/types.ts';
import { deepFreeze } from '../support/arbitraries.ts';
import { getTestPod, startTime, TestManager, testPodUID } from './fixture.ts';

function newPod(): Pod {
  return getTestPod({
    metadata: { generation: 2, annotations: { a: 'b' } },
    spec: { containers: [{ name: 'a' }, { name: 'b' }], readinessGates: [{ conditionType: 'example.com/gate' }] },
    status: {
      phase: 'Pending',
      conditions: [{ type: 'PodResizePending', status: 'True', reason: 'Deferred' }],
    },
  });
}

/** Unsorted, with a Date, a fraction, odd quantities and duplicates: everything that is rewritten on the way in. */
function newStatus() {
  return {
    phase: 'Running',
    startTime: new Date('2026-01-01T00:00:00.5Z'),
    conditions: [
      { type: 'Ready', status: 'False' },
      { type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00.5+01:00' },
    ],
    containerStatuses: [
      { name: 'b', containerID: 'test://b', state: { running: {} }, resources: { limits: { cpu: '1000m' } } },
      { name: 'a', containerID: 'test://a', state: { terminated: { message: 'x'.repeat(20_000) } } },
    ],
    'x-new': { list: [{ a: 1 }] },
  };
}

/** Everything the manager can be asked to do, with what it hands out. */
async function useAll(t: TestManager, freeze: <T>(value: T) => T): Promise<unknown[]> {
  const pod = freeze(newPod());
  const handedOut: unknown[] = [];
  t.manager.subscribe(
    freeze({
      onPodUpdated: (updated: Pod, status: PodStatus) => void handedOut.push(updated.status, status),
      onPodRemoved: (removed: Pod) => void handedOut.push(removed.status),
    }),
  );
  t.client.put(pod);
  t.podManager.addPod(pod);
  handedOut.push(
    t.manager.setPodStatus(pod, freeze(newStatus())).status,
    t.manager.setPodStatus(pod, freeze(newStatus())).status,
    t.manager.setContainerReadiness(testPodUID, 'test://a', true).status,
    t.manager.setContainerStartup(testPodUID, 'test://b', true).status,
    t.manager.setPodVolumeHealth(testPodUID, 'data', freeze([{ status: 's', reason: 'r' }])).status,
    t.manager.getPodStatus(testPodUID),
  );
  t.manager.backfillPodResizeConditions(freeze([pod]));
  await t.manager.setPodAllocation(pod);
  await t.manager.syncBatch(true);
  t.podManager.updatePod(freeze(structuredClone(t.client.pod('new', 'foo')!)));
  await t.manager.syncBatch(true);
  handedOut.push(t.manager.terminatePod(pod).status);
  await t.manager.syncBatch(true);
  t.manager.removeOrphanedStatuses(freeze(['other']));
  t.manager.seed(freeze([pod]));
  handedOut.push(t.manager.getPodStatus(testPodUID));
  return handedOut;
}

function isDeepFrozen(value: unknown): boolean {
  return (
    typeof value !== 'object' || value === null || (Object.isFrozen(value) && Object.values(value).every(isDeepFrozen))
  );
}

describe('arguments of the caller', () => {
  it('may be deeply frozen: nothing is written to them', async () => {
    const handedOut = await useAll(new TestManager(), deepFreeze);
    expect(handedOut.at(-1)).toMatchObject({ phase: 'Pending' });
  });

  it('are not frozen by the manager', async () => {
    const given: unknown[] = [];
    await useAll(new TestManager(), (value) => {
      given.push(value);
      return value;
    });
    const objects = (value: unknown): object[] =>
      typeof value === 'object' && value !== null ? [value, ...Object.values(value).flatMap(objects)] : [];
    expect(given.flatMap(objects).filter((value) => Object.isFrozen(value))).toEqual([]);
  });

  it('may be changed afterwards: the cache does not change', () => {
    const t = new TestManager();
    const status = newStatus();
    const pod = structuredClone(newPod()) as { metadata: { name: string } };
    t.manager.setPodStatus(pod, status);
    const before = structuredClone([t.status(), t.manager.inspect()]);
    status.phase = 'Failed';
    status.startTime.setTime(0);
    status.containerStatuses[0]!.resources!.limits.cpu = '2';
    status.containerStatuses.pop();
    status['x-new'].list[0]!.a = 2;
    pod.metadata.name = 'other';
    expect([t.status(), t.manager.inspect()]).toEqual(before);
  });

  it('allows changing the health conditions of a volume afterwards', () => {
    const t = new TestManager();
    t.podManager.addPod(newPod());
    t.manager.setPodStatus(newPod(), {});
    const conditions = [{ status: 's', reason: 'r' }];
    t.manager.setPodVolumeHealth(testPodUID, 'data', conditions);
    conditions[0]!.reason = 'other';
    conditions.push({ status: 't', reason: 't' });
    expect(t.status().volumeHealth?.[0]?.healthConditions).toEqual([{ status: 's', reason: 'r' }]);
  });

  it('the response of a client may be changed afterwards', async () => {
    const conditions = [{ type: 'example.com/gate', status: 'True' }];
    const pod = getTestPod({ status: { conditions } });
    const t = new TestManager([pod], { readBeforePatch: 'when-stale' });
    t.podManager.addPod(pod);
    t.manager.setPodStatus(pod, { phase: 'Running' });
    await t.manager.syncBatch(false);
    conditions[0]!.status = 'False';
    t.client.put(pod);
    t.manager.setPodStatus(pod, { phase: 'Running', message: 'm' });
    const before = t.status();
    await t.manager.syncBatch(false);
    expect(t.status()).toEqual(before);
  });
});

describe('returned objects', () => {
  it('are deeply frozen', async () => {
    const handedOut = await useAll(new TestManager(), (value) => value);
    expect(handedOut.length).toBeGreaterThan(10);
    expect(handedOut.filter((value) => !isDeepFrozen(value))).toEqual([]);
  });

  it('stay the same when the cache changes', () => {
    const t = new TestManager();
    const { status } = t.manager.setPodStatus(getTestPod(), { message: 'first' });
    t.manager.setPodStatus(getTestPod(), { message: 'second' });
    expect(status.message).toBe('first');
  });

  it('a result has the status of its time, whenever it is read', () => {
    const t = new TestManager();
    const result = t.manager.setPodStatus(getTestPod(), { message: 'first' });
    t.manager.setPodStatus(getTestPod(), { message: 'second' });
    expect(result.status).toEqual({ message: 'first', startTime });
  });

  it('inspect() has no reference into the manager', async () => {
    const t = new TestManager([getTestPod()]);
    t.manager.setPodStatus(getTestPod(), {});
    await t.manager.syncBatch(false);
    const snapshot = t.manager.inspect() as unknown as {
      pods: unknown[];
      apiStatusVersions: Map<string, number>;
    };
    const before = structuredClone(snapshot);
    t.manager.removeOrphanedStatuses([]);
    expect(snapshot).toEqual(before);
    snapshot.apiStatusVersions.clear();
    snapshot.pods.length = 0;
    expect(t.manager.inspect().apiStatusVersions.size).toBe(1);
  });

  it('the request body does not share objects with the cache', async () => {
    const t = new TestManager([getTestPod()]);
    t.client.react({ verb: 'patch' }, ({ patch }) => {
      const body = patch!.body as { status: PodStatusInput & Record<string, unknown> };
      expect(() => {
        (body.status.containerStatuses![0] as { image: string }).image = 'changed';
      }).toThrow(TypeError);
    });
    t.manager.setPodStatus(getTestPod(), { containerStatuses: [{ name: 'c', image: 'i' }] });
    t.manager.getPodStatus(testPodUID);
    await t.manager.syncBatch(false);
    expect(t.status().containerStatuses?.[0]?.image).toBe('i');
    expect(t.client.actions.map(({ verb }) => verb)).toEqual(['get', 'patch']);
  });
});

describe('two managers in one process', () => {
  it('share nothing', async () => {
    const a = new TestManager([newPod()]);
    const b = new TestManager([newPod()]);
    const untouched = structuredClone(b.manager.inspect());
    await useAll(a, (value) => value);
    a.manager.setPodResizeInProgressCondition(testPodUID, '', '', 1);
    expect(b.manager.inspect()).toEqual(untouched);
    expect(b.manager.getPodStatus(testPodUID)).toBeUndefined();
    expect(b.manager.getPodResizeConditions(testPodUID)).toEqual([]);
    expect(b.podManager.getPods()).toEqual([]);
    expect([...b.client.actions, ...b.logged, ...b.metrics.terminations]).toEqual([]);
    await a.manager.stop();
    b.manager.setPodStatus(newPod(), {});
    expect((await b.manager.syncBatch(true)).tried).toBe(1);
  });

  it('may share a pod manager and a client', async () => {
    const a = new TestManager([newPod()]);
    const b = new TestManager([], { podManager: a.podManager, client: a.client });
    a.podManager.addPod(newPod());
    a.manager.setPodStatus(newPod(), { message: 'a' });
    b.manager.setPodStatus(newPod(), { message: 'b' });
    await a.manager.syncBatch(true);
    await b.manager.syncBatch(true);
    expect(a.client.pod('new', 'foo')?.status?.message).toBe('b');
    expect(a.status().message).toBe('a');
  });
});
