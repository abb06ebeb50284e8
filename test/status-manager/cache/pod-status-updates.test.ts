import { describe, expect, it } from 'vitest';
import { adoptServerStatuses } from '../../../src/status-manager/recovered-statuses.ts';
import { PodStatusCache, type VersionedPodStatus } from '../../../src/status-manager/cache/pod-status-cache.ts';
import { PodStatusUpdates } from '../../../src/status-manager/cache/pod-status-updates.ts';
import { BasicPodManager } from '../../../src/kube/pod-manager/basic-pod-manager.ts';
import type { PodStatusListener } from '../../../src/status-manager/cache/pod-status-listener.ts';
import { Subscribers } from '../../../src/shared/subscribers.ts';
import { FakeClock } from '../../../src/testing/fake-clock.ts';
import { recordingLogger } from '../../../src/testing/recording-logger.ts';
import { RecordingMetrics } from '../../../src/testing/recording-metrics.ts';
import type { ValidPod, PodStatusInput } from '../../../src/kube/objects/types.ts';

const pod: ValidPod = {
  metadata: { uid: 'a', name: 'foo', namespace: 'new' },
  spec: { containers: [{ name: 'c' }], restartPolicy: 'Always' },
};

function setup() {
  const podManager = new BasicPodManager();
  const cache = new PodStatusCache(podManager);
  const [logger, clock] = [recordingLogger(), new FakeClock('2026-01-02T03:04:05Z')];
  const accepted: VersionedPodStatus[] = [];
  const notified: unknown[] = [];
  const subscribers = new Subscribers<PodStatusListener>(logger);
  subscribers.add({
    onPodUpdated: (updated, status, isAdded) => notified.push({ updated, status, isAdded }),
    onPodRemoved: (removed) => notified.push({ removed }),
  });
  const updates = new PodStatusUpdates({
    ...{ cache, podManager, clock, logger, metrics: new RecordingMetrics(), subscribers },
    onAccepted: (_uid, versioned) => accepted.push({ ...versioned }),
    onChecked: () => undefined,
    onUnchanged: () => undefined,
  });
  podManager.addPod(pod);
  return { podManager, cache, updates, logger, accepted, notified };
}

const ready = (status: string, ...others: string[]): PodStatusInput => ({
  phase: 'Running',
  conditions: [...others.map((type) => ({ type, status: 'True' })), { type: 'Ready', status }],
});
const terminal: PodStatusInput = { phase: 'Failed' };

describe('a status is urgent', () => {
  it.each<[string, PodStatusInput, PodStatusInput, boolean]>([
    ['when the pod becomes ready', ready('False'), ready('True'), true],
    ['when it becomes unready', ready('True'), ready('False'), true],
    ['when it is ready at first', {}, ready('True', 'Initialized'), true],
    ['not while it stays unready', {}, ready('False'), false],
    ['not when only other conditions become True', ready('False'), ready('False', 'Initialized'), false],
    ['not while it stays ready', ready('True'), ready('True', 'Initialized'), false],
    ['not when Ready was Unknown and becomes False', ready('Unknown'), ready('False'), false],
    ['when the phase becomes terminal', { phase: 'Running' }, terminal, true],
    ['not when the phase changes otherwise', { phase: 'Pending' }, { phase: 'Running' }, false],
    ['not when a terminal phase stays', terminal, { ...terminal, reason: 'Evicted' }, false],
  ])('%s', (_case, before, after, urgent) => {
    const { cache, updates, accepted } = setup();
    updates.setPodStatus(pod, before);
    // A version that was sent is no longer urgent.
    cache.markSent('a', 'a', cache.get('a')!, { readAtMs: 0, atMs: 0, as: 'written' });
    updates.setPodStatus(pod, after);
    expect(accepted.at(-1)).toMatchObject({ version: 2, urgent });
  });

  it('once the pod has been terminated, whatever it shows', () => {
    const { updates, accepted } = setup();
    updates.setPodStatus(pod, terminal);
    updates.terminatePod(pod);
    expect(accepted.at(-1)).toMatchObject({ podIsFinished: true, urgent: true });
  });
});

describe('listeners', () => {
  it('are told of a pod that is added, changed and removed, with its new status', () => {
    const { updates, notified } = setup();
    updates.setPodStatus(pod, ready('False'));
    updates.setPodStatus(pod, ready('True'));
    updates.terminatePod(pod);
    expect(notified).toMatchObject([
      { isAdded: true, updated: { metadata: pod.metadata, status: { conditions: [{ status: 'False' }] } } },
      { isAdded: false, updated: { spec: pod.spec, status: { conditions: [{ status: 'True' }] } } },
      { removed: { metadata: pod.metadata, status: { phase: 'Failed' } } },
    ]);
  });

  it('are not told that a pod is added when it is being deleted', () => {
    const { updates, notified } = setup();
    const deleted = { ...pod, metadata: { ...pod.metadata, deletionTimestamp: '2026-01-02T03:04:00Z' } };
    updates.setPodStatus(deleted, ready('True'));
    expect(notified).toMatchObject([{ isAdded: false }]);
  });
});

describe('an update that changes nothing', () => {
  const id = 'test://c';
  const running: PodStatusInput = {
    phase: 'Running',
    containerStatuses: [{ name: 'c', containerID: id, ready: true }],
  };
  const health = [{ status: 'Degraded', reason: 'SlowDisk' }];
  type Updates = PodStatusUpdates;

  it.each<[string, (updates: Updates) => { ignored?: string }, string, 'trace' | 'debug']>([
    ['setPodStatus', (u) => u.setPodStatus(pod, running), 'unchanged', 'trace'],
    ['setContainerReadiness', (u) => u.setContainerReadiness('a', id, true), 'unchanged', 'trace'],
    ['setContainerReadiness', (u) => u.setContainerReadiness('a', 'test://x', true), 'unknown-container', 'debug'],
    ['setContainerReadiness', (u) => u.setContainerReadiness('x', id, true), 'unknown-pod', 'debug'],
    ['setContainerReadiness', (u) => u.setContainerReadiness('b', id, true), 'no-status', 'debug'],
    ['setPodVolumeHealth', (u) => u.setPodVolumeHealth('a', 'data', health), 'unchanged', 'trace'],
    ['setPodVolumeHealth', (u) => u.setPodVolumeHealth('x', 'data', health), 'unknown-pod', 'debug'],
    ['setPodVolumeHealth', (u) => u.setPodVolumeHealth('b', 'data', health), 'no-status', 'debug'],
  ])('%s says why, and logs it: %s', (_method, update, ignored, level) => {
    const { podManager, updates, accepted, logger } = setup();
    podManager.addPod({ ...pod, metadata: { ...pod.metadata, uid: 'b', name: 'other' } });
    updates.setPodStatus(pod, running);
    updates.setPodVolumeHealth('a', 'data', health);
    const before = accepted.length;
    const logged = logger.lines.length;
    expect(update(updates)).toMatchObject({ ignored, changed: false });
    expect(accepted).toHaveLength(before);
    expect(logger.lines.slice(logged)).toMatchObject([
      level === 'trace'
        ? { level, message: 'Ignoring same status for pod', fields: { pod: 'new/foo' } }
        : { level, message: 'Status update on pod ignored', fields: { ignored } },
    ]);
  });

  it('neither readiness nor volume health finishes a pod', () => {
    const { updates, cache } = setup();
    updates.setPodStatus(pod, running);
    updates.setContainerReadiness('a', id, false);
    updates.setPodVolumeHealth('a', 'data', health);
    expect(cache.get('a')).toMatchObject({ version: 3, podIsFinished: false, podName: 'foo', podNamespace: 'new' });
  });

  it('terminatePod reports a phase that it does not know', () => {
    const { updates, logger } = setup();
    updates.terminatePod({ ...pod, status: { phase: 'Unknown' } });
    expect(logger.lines).toContainEqual(
      expect.objectContaining({
        level: 'error',
        message: 'Unknown phase of a terminated pod',
        fields: expect.objectContaining({ pod: 'new/foo', phase: 'Unknown' }) as unknown,
      }),
    );
  });
});

describe('adoptServerStatuses', () => {
  it('caches the server status as sent version 1; skips cached pods and pods without a phase', () => {
    const { podManager, cache, updates } = setup();
    updates.setPodStatus(pod, ready('True'));
    const shown = (uid: string, status: PodStatusInput | undefined): ValidPod => ({
      metadata: { uid, name: uid, namespace: 'n' },
      status,
    });
    const duplicated = [
      { type: 'Ready', status: 'True' },
      { type: 'Ready', status: 'False' },
    ];
    const pods = [
      { ...pod, status: terminal },
      shown('b', { phase: 'Running', conditions: duplicated, podIPs: [7 as never] }),
      shown('c', {}),
      shown('d', undefined),
    ];
    expect(adoptServerStatuses(cache, podManager, pods, 5)).toBe(1);
    expect(cache.get('a')?.status.phase).toBe('Running');
    expect([cache.has('c'), cache.has('d')]).toEqual([false, false]);
    expect(cache.get('b')).toMatchObject({
      ...{ version: 1, podName: 'b', podNamespace: 'n', podIsFinished: false, urgent: false },
      ...{ sentAs: 'adopted', sentAtMs: 5, status: { phase: 'Running', conditions: [{ status: 'False' }] } },
    });
    expect(cache.get('b')?.status.conditions).toHaveLength(1);
    expect(cache.unsentUIDs()).toEqual(['a']);
  });
});
