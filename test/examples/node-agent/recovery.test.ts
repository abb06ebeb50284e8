import { BasicPodManager, type Pod, StatusManager, type StatusOutcome } from 'kubelet-status-manager';
import { FakeClock, FakePodClient } from 'kubelet-status-manager/testing';
import { describe, expect, it } from 'vitest';
import { Recovery } from '../../../examples/node-agent/recovery.ts';

function podOf(name: string): Pod {
  return { metadata: { namespace: 'default', name, uid: name }, spec: {} };
}

function setUp() {
  const pods = [podOf('a'), podOf('b')];
  const clock = new FakeClock();
  const client = new FakePodClient(pods);
  const podManager = new BasicPodManager();
  const manager = new StatusManager({ client, podManager, podCouldHaveRunningContainers: () => false, clock });
  for (const pod of pods) podManager.updatePod(pod);
  const set = (name: string, message: string): void =>
    void manager.setPodStatus(podOf(name), { phase: 'Running', message });
  const shown = { pods: (): Pod[] => client.list() };
  const recovery = new Recovery({ statusManager: manager, listPods: async () => shown.pods(), clock });
  return { clock, manager, set, recovery, shown };
}

describe('Recovery', () => {
  it('counts the statuses that waited, and the time until the last one was sent', async () => {
    const { clock, manager, set, recovery } = setUp();
    set('a', 'unsent before the outage');
    recovery.begin();
    set('a', 'two');
    set('b', 'one');
    const report = recovery.end();
    await clock.advanceAsync(400);
    expect(recovery.report).toBeUndefined();
    set('b', 'in the meantime');
    await clock.advanceAsync(50);
    await manager.syncBatch(true);
    await clock.advanceAsync(50);
    expect(await report).toEqual({ caughtUpMs: 500, statuses: 4, pods: 2, lost: [] });
    expect(recovery.report).toEqual(await report);
  });

  it('reports a pod as lost whose newest status the API server does not have', async () => {
    const { clock, manager, set, recovery, shown } = setUp();
    recovery.begin();
    set('a', 'new');
    set('b', 'new');
    const report = recovery.end();
    await manager.syncBatch(true);
    const readPods = shown.pods;
    shown.pods = () => readPods().map((pod) => (pod.metadata!.name === 'b' ? podOf('b') : pod));
    await clock.advanceAsync(10_100);
    expect(await report).toMatchObject({ caughtUpMs: 50, lost: ['default/b'] });
  });

  it('waits for an API server that does not respond yet', async () => {
    const { clock, manager, set, recovery, shown } = setUp();
    recovery.begin();
    set('a', 'new');
    const report = recovery.end();
    await manager.syncBatch(true);
    const readPods = shown.pods;
    shown.pods = () => {
      throw new Error('unavailable');
    };
    await clock.advanceAsync(1_000);
    expect(recovery.report).toBeUndefined();
    shown.pods = readPods;
    await clock.advanceAsync(50);
    expect(await report).toMatchObject({ statuses: 1, lost: [] });
  });

  it('reports a pod as lost whose statuses arrive in the wrong order', async () => {
    const clock = new FakeClock();
    const listeners: { onOutcome?: (outcome: StatusOutcome) => void }[] = [];
    const statusManager = {
      inspect: () => ({ pods: [] }),
      getPodStatus: () => undefined,
      subscribe: (listener: { onOutcome?: (outcome: StatusOutcome) => void }) => {
        listeners.push(listener);
        return () => {};
      },
    };
    const recovery = new Recovery({ statusManager: statusManager as never, listPods: async () => [], clock });
    const sent = (podName: string, version: number): void =>
      listeners[0]!.onOutcome!({ podUID: podName, podNamespace: 'default', podName, version, outcome: 'written' });
    recovery.begin();
    for (const version of [2, 3]) sent('a', version);
    for (const version of [3, 2]) sent('b', version);
    expect(await recovery.end()).toMatchObject({ lost: ['default/b'] });
  });

  it('measures one recovery if the API server goes away again before the end', async () => {
    const { clock, manager, set, recovery } = setUp();
    recovery.begin();
    set('a', 'one');
    const first = recovery.end();
    await clock.advanceAsync(100);
    recovery.begin();
    set('a', 'two');
    await clock.advanceAsync(50);
    expect(await first).toBeUndefined();
    const second = recovery.end();
    await manager.syncBatch(true);
    await clock.advanceAsync(50);
    expect(await second).toMatchObject({ caughtUpMs: 50, statuses: 2, lost: [] });
    expect(recovery.report).toEqual(await second);
  });
});
