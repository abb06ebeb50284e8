import { describe, expect, it } from 'vitest';
import type { PodStatus } from '../../src/kube/objects/types.ts';
import { getTestPod, startTime, TestManager, testPodUID } from './fixture.ts';

const degraded = { status: 'Degraded', reason: 'SlowDisk' };

function knownPod(): TestManager {
  const t = new TestManager();
  t.podManager.addPod(getTestPod());
  t.manager.setPodStatus(getTestPod(), t.newStatus());
  return t;
}

function health(t: TestManager): PodStatus['volumeHealth'] {
  return t.status().volumeHealth;
}

describe('TestSetPodVolumeHealth', () => {
  it('adds an entry with the present time, and wakes the loop', async () => {
    const t = knownPod();
    await t.consumeUpdates();
    t.clock.advance(1_000);
    expect(t.manager.setPodVolumeHealth(testPodUID, 'data', [{ ...degraded, message: 'slow' }]).changed).toBe(true);
    expect(health(t)).toEqual([
      {
        name: 'data',
        lastTransitionTime: '2026-01-02T03:04:06Z',
        healthConditions: [{ ...degraded, message: 'slow' }],
      },
    ]);
    expect(await t.consumeUpdates()).toBe(1);
  });

  it.each([
    ['the same conditions', [degraded]],
    ['the same with another message', [{ ...degraded, message: 'other' }]],
    ['the same twice', [degraded, degraded]],
  ])('does nothing for %s', (_, conditions) => {
    const t = knownPod();
    t.manager.setPodVolumeHealth(testPodUID, 'data', [degraded]);
    const before = health(t);
    t.clock.advance(1_000);
    expect(t.manager.setPodVolumeHealth(testPodUID, 'data', conditions).changed).toBe(false);
    expect(health(t)).toEqual(before);
  });

  it.each([
    ['another status', [{ ...degraded, status: 'Unmounted' }]],
    ['another reason', [{ ...degraded, reason: 'NoDisk' }]],
    ['one more', [degraded, { status: 'Unmounted', reason: 'NoDisk' }]],
  ])('replaces the conditions for %s and keeps the order', (_, conditions) => {
    const t = knownPod();
    t.manager.setPodVolumeHealth(testPodUID, 'data', [degraded]);
    t.manager.setPodVolumeHealth(testPodUID, 'logs', [degraded]);
    t.clock.advance(1_000);
    expect(t.manager.setPodVolumeHealth(testPodUID, 'data', conditions).changed).toBe(true);
    expect(health(t)).toEqual([
      { name: 'data', lastTransitionTime: '2026-01-02T03:04:06Z', healthConditions: conditions },
      { name: 'logs', lastTransitionTime: startTime, healthConditions: [degraded] },
    ]);
  });

  it('keeps the entry of a healed volume, without conditions', () => {
    const t = knownPod();
    t.manager.setPodVolumeHealth(testPodUID, 'data', [degraded]);
    t.clock.advance(1_000);
    expect(t.manager.setPodVolumeHealth(testPodUID, 'data', []).changed).toBe(true);
    expect(health(t)).toEqual([{ name: 'data', lastTransitionTime: '2026-01-02T03:04:06Z' }]);
    expect(t.manager.setPodVolumeHealth(testPodUID, 'data', []).changed).toBe(false);
  });

  it('an unknown healthy volume gets no entry', () => {
    const t = knownPod();
    expect(t.manager.setPodVolumeHealth(testPodUID, 'data', []).changed).toBe(false);
    expect(health(t)).toBeUndefined();
  });

  it('does nothing for a pod that is not known or not cached', () => {
    const t = new TestManager();
    t.manager.setPodStatus(getTestPod(), t.newStatus());
    const unknownVolume = t.manager.setPodVolumeHealth(testPodUID, 'data', [degraded]);
    expect([unknownVolume.status, unknownVolume.changed]).toEqual([t.status(), false]);
    t.podManager.addPod(getTestPod({ metadata: { uid: 'other' } }));
    const uncached = t.manager.setPodVolumeHealth('other', 'data', [degraded]);
    expect([uncached.status, uncached.changed]).toEqual([{}, false]);
  });
});

describe('TestVolumeHealthSurvivesPodStatusUpdate', () => {
  it('a status without volumeHealth keeps the old one', () => {
    const t = knownPod();
    t.manager.setPodVolumeHealth(testPodUID, 'data', [degraded]);
    const before = health(t);
    t.manager.setPodStatus(getTestPod(), t.newStatus());
    expect(health(t)).toEqual(before);
    t.manager.setPodStatus(getTestPod(), t.newStatus({ volumeHealth: [] }));
    expect(health(t)).toEqual(before);
  });

  it('a status with volumeHealth replaces it', () => {
    const t = knownPod();
    t.manager.setPodVolumeHealth(testPodUID, 'data', [degraded]);
    t.manager.setPodStatus(getTestPod(), t.newStatus({ volumeHealth: [{ name: 'logs' }] }));
    expect(health(t)).toEqual([{ name: 'logs', lastTransitionTime: null }]);
  });
});
