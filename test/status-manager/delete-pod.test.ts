import { describe, expect, it } from 'vitest';
import { getTestPod, startTime, TestManager, testPodUID } from './fixture.ts';

const deletedPod = getTestPod({ metadata: { deletionTimestamp: startTime } });

describe('TestDeletePodBeforeFinished', () => {
  it('does not delete a pod before TerminatePod was called', async () => {
    const t = new TestManager([deletedPod]);
    t.podManager.addPod(deletedPod);
    t.manager.setPodStatus(deletedPod, t.newStatus({ phase: 'Failed' }));
    expect(await t.takeActions()).toEqual(['get', 'patch']);
  });
});

describe('TestDeletePodFinished', () => {
  it('deletes a pod after TerminatePod was called, and drops its status', async () => {
    const t = new TestManager([deletedPod]);
    t.podManager.addPod(deletedPod);
    t.manager.terminatePod(deletedPod);
    await t.consumeUpdates();
    expect(t.client.actionsOf({ verb: 'delete' })).toEqual([
      expect.objectContaining({ preconditions: { uid: testPodUID, gracePeriodSeconds: 0 } }),
    ]);
    expect(await t.takeActions()).toEqual(['get', 'patch', 'delete']);
    expect(t.client.pods.size).toBe(0);
    expect(t.manager.inspect().pods).toEqual([]);
  });
});

describe('deletion of a finished pod', () => {
  it.each([
    ['nobody asked for it', getTestPod()],
    [
      'it is a mirror',
      getTestPod({ metadata: { deletionTimestamp: startTime, annotations: { 'kubernetes.io/config.mirror': '' } } }),
    ],
  ])('does not happen when %s', async (_, pod) => {
    const t = new TestManager([pod]);
    t.manager.terminatePod(pod);
    expect(await t.takeActions()).toEqual(['get', 'patch']);
  });

  it('waits until no container could be running, because the phase on the API server decides', async () => {
    let isRunning = true;
    const t = new TestManager([deletedPod], { podCouldHaveRunningContainers: () => isRunning });
    t.podManager.addPod(deletedPod);
    t.manager.terminatePod(deletedPod);
    expect(await t.takeActions()).toEqual(['get', 'patch']);
    expect(t.client.pod('new', 'foo')?.status?.phase).toBeUndefined();
    isRunning = false;
    await t.manager.syncBatch(true);
    expect(await t.takeActions()).toEqual(['get', 'patch', 'delete']);
  });

  it('treats a safety provider that throws as: containers could be running', async () => {
    const t = new TestManager([deletedPod], {
      podCouldHaveRunningContainers: () => {
        throw new Error('no runtime');
      },
    });
    t.manager.terminatePod(deletedPod);
    expect(await t.takeActions()).toEqual(['get', 'patch']);
    expect(t.client.pods.size).toBe(1);
  });

  it.each([404, 500])('is tried again by full batches only after a failed DELETE (%i)', async (code) => {
    const t = new TestManager([deletedPod]);
    t.client.fail({ verb: 'delete' }, code);
    t.manager.terminatePod(deletedPod);
    expect(await t.takeActions()).toEqual(['get', 'patch', 'delete']);
    expect(t.version()).toBe(1);
    t.podManager.addPod({ ...deletedPod, status: t.status() });
    expect((await t.manager.syncBatch(false)).tried).toBe(0);
    expect((await t.manager.syncBatch(true)).tried).toBe(1);
    expect(await t.takeActions()).toEqual(['get', 'delete']);
    expect(t.manager.inspect().pods).toEqual([]);
  });

  it('drops the status of a pod whose object a finalizer keeps', async () => {
    const pod = getTestPod({ metadata: { deletionTimestamp: startTime, finalizers: ['example.com/keep'] } });
    const t = new TestManager([pod]);
    t.manager.terminatePod(pod);
    expect(await t.takeActions()).toEqual(['get', 'patch', 'delete']);
    expect(t.client.pods.size).toBe(1);
    expect(t.manager.inspect().pods).toEqual([]);
  });
});
