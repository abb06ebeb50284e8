import { describe, expect, it } from 'vitest';
import type { PodStatusInput } from '../../src/kube/objects/types.ts';
import { getTestPod, startTime, TestManager, testPodUID } from './fixture.ts';

const pod = getTestPod({ spec: { containers: [{ name: 'c1' }, { name: 'c2' }] } });
const status: PodStatusInput = {
  containerStatuses: [
    { name: 'c1', containerID: 'test://1', ready: false },
    { name: 'c2', containerID: 'test://2', ready: false },
  ],
  conditions: [{ type: 'Ready', status: 'False' }],
};

function knownPod(): TestManager {
  const t = new TestManager();
  t.podManager.addPod(pod);
  return t;
}

describe('TestSetContainerReadiness', () => {
  function readiness(t: TestManager): unknown[] {
    expect(t.status().conditions?.[0]?.type).toBe('Ready');
    return [...t.status().containerStatuses!.map(({ ready }) => ready), t.status().conditions?.[0]?.status];
  }

  it('Setting readiness before status should fail.', async () => {
    const t = knownPod();
    const { status, changed } = t.manager.setContainerReadiness(testPodUID, 'test://1', true);
    expect({ status, changed }).toEqual({ status: {}, changed: false });
    expect(await t.consumeUpdates()).toBe(0);
    expect(t.manager.getPodStatus(testPodUID)).toBeUndefined();
  });

  it('makes the pod ready with its last container', async () => {
    const t = knownPod();
    t.manager.setPodStatus(pod, status);
    expect(await t.consumeUpdates()).toBe(1);
    expect(readiness(t)).toEqual([false, false, 'False']);

    // Setting unchanged readiness should do nothing.
    expect(t.manager.setContainerReadiness(testPodUID, 'test://1', false).ignored).toBe('unchanged');
    expect(await t.consumeUpdates()).toBe(0);

    // Setting container readiness should generate update but not pod readiness.
    expect(t.manager.setContainerReadiness(testPodUID, 'test://1', true).changed).toBe(true);
    expect(await t.consumeUpdates()).toBe(1);
    expect(readiness(t)).toEqual([true, false, 'False']);

    // Setting both containers to ready should update pod readiness.
    t.manager.setContainerReadiness(testPodUID, 'test://2', true);
    expect(await t.consumeUpdates()).toBe(1);
    expect(readiness(t)).toEqual([true, true, 'True']);

    // Setting non-existent container readiness should fail.
    expect(t.manager.setContainerReadiness(testPodUID, 'test://foo', true).changed).toBe(false);
    expect(await t.consumeUpdates()).toBe(0);
    expect(readiness(t)).toEqual([true, true, 'True']);
  });

  it('replaces both conditions completely, and changes their transition times only with their status', () => {
    const t = knownPod();
    t.manager.setPodStatus(pod, {
      ...status,
      conditions: [{ type: 'Ready', status: 'False', lastProbeTime: startTime, reason: 'Old', message: 'old' }],
    });
    t.clock.advance(1_000);
    t.manager.setContainerReadiness(testPodUID, 'test://1', true);
    const notReady = {
      status: 'False',
      lastProbeTime: null,
      reason: 'ContainersNotReady',
      message: 'containers with unready status: [c2]',
    };
    expect(t.status().conditions).toEqual([
      { type: 'Ready', ...notReady, lastTransitionTime: startTime },
      { type: 'ContainersReady', ...notReady, lastTransitionTime: '2026-01-02T03:04:06Z' },
    ]);
  });

  it('finds a sidecar by its ID', () => {
    const t = new TestManager();
    const withSidecar = getTestPod({ spec: { initContainers: [{ name: 's', restartPolicy: 'Always' }] } });
    t.podManager.addPod(withSidecar);
    t.manager.setPodStatus(withSidecar, { initContainerStatuses: [{ name: 's', containerID: 'test://s' }] });
    t.manager.setContainerReadiness(testPodUID, 'test://s', true);
    expect(t.status().initContainerStatuses?.[0]?.ready).toBe(true);
    expect(t.condition('Ready')?.status).toBe('True');
  });

  it('does nothing for a pod that the pod manager does not know', () => {
    const t = knownPod();
    t.manager.setPodStatus(pod, status);
    t.podManager.removePod(pod);
    const result = t.manager.setContainerReadiness(testPodUID, 'test://1', true);
    expect([result.status, result.changed]).toEqual([t.status(), false]);
  });
});

describe.each(['setContainerReadiness', 'setContainerStartup'] as const)('%s says why it changes nothing', (method) => {
  it('an unknown pod or container once looked like “no change”', () => {
    const t = knownPod();
    expect(t.manager[method](testPodUID, 'test://1', true)).toEqual({
      status: {},
      changed: false,
      ignored: 'no-status',
    });
    t.manager.setPodStatus(pod, status);
    expect(t.manager[method](testPodUID, 'test://foo', true).ignored).toBe('unknown-container');
    t.manager[method](testPodUID, 'test://1', true);
    expect(t.manager[method](testPodUID, 'test://1', true).ignored).toBe('unchanged');
    t.podManager.removePod(pod);
    const result = t.manager[method](testPodUID, 'test://1', false);
    expect(result).toEqual({ status: t.status(), changed: false, ignored: 'unknown-pod' });
    expect(t.logged.filter(({ message }) => message === 'Status update on pod ignored')).toEqual(
      [
        ['debug', 'no-status'],
        ['debug', 'unknown-container'],
        ['debug', 'unknown-pod'],
      ].map(([level, ignored]) => ({
        level,
        message: 'Status update on pod ignored',
        fields: expect.objectContaining({ podUID: testPodUID, ignored }),
      })),
    );
  });

  it('warns once about an ID without a scheme, because no status has such an ID', () => {
    const t = knownPod();
    t.manager.setPodStatus(pod, status);
    expect(t.manager[method](testPodUID, '1', true).ignored).toBe('unknown-container');
    t.manager[method](testPodUID, '2', true);
    expect(t.logged.filter(({ level }) => level === 'warn')).toEqual([
      {
        level: 'warn',
        fields: { pod: 'new/foo', podUID: testPodUID, containerID: '1' },
        message: 'Unknown container ID without a scheme such as containerd://; logged only once',
      },
    ]);
  });
});

describe('TestSetContainerStartup', () => {
  function startup(t: TestManager): unknown[] {
    return t.status().containerStatuses!.map(({ started }) => started);
  }

  it('Setting startup before status should fail.', async () => {
    const t = knownPod();
    expect(t.manager.setContainerStartup(testPodUID, 'test://1', true).changed).toBe(false);
    expect(await t.consumeUpdates()).toBe(0);
    expect(t.manager.getPodStatus(testPodUID)).toBeUndefined();
  });

  it('sets `started` of one container, where unset differs from false', async () => {
    const t = knownPod();
    t.manager.setPodStatus(pod, status);
    expect(await t.consumeUpdates()).toBe(1);
    expect(startup(t)).toEqual([undefined, undefined]);

    // Started = nil to false.
    t.manager.setContainerStartup(testPodUID, 'test://1', false);
    expect(await t.consumeUpdates()).toBe(1);
    expect(startup(t)).toEqual([false, undefined]);

    // Setting unchanged startup should do nothing.
    t.manager.setContainerStartup(testPodUID, 'test://1', false);
    expect(await t.consumeUpdates()).toBe(0);

    // Setting container startup should generate update but not pod startup.
    t.manager.setContainerStartup(testPodUID, 'test://1', true);
    expect(await t.consumeUpdates()).toBe(1);
    expect(startup(t)).toEqual([true, undefined]);
    t.manager.setContainerStartup(testPodUID, 'test://2', true);
    expect(await t.consumeUpdates()).toBe(1);
    expect(startup(t)).toEqual([true, true]);
    expect(t.status().conditions?.map(({ status }) => status)).toEqual(['False']);

    // Setting non-existent container startup should fail.
    t.manager.setContainerStartup(testPodUID, 'test://foo', true);
    expect(await t.consumeUpdates()).toBe(0);
    expect(startup(t)).toEqual([true, true]);
  });
});
