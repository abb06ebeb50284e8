import { describe, expect, it } from 'vitest';
import { ActiveDeadlineHandler } from '../../../src/node/pod-workers/active-deadline.ts';
import type { ValidPod } from '../../../src/kube/objects/types.ts';
import type { PodEvent } from '../../../src/node/events/event-recorder.ts';
import { FakeClock } from '../../../src/testing/fake-clock.ts';

const started = '2026-01-02T03:04:05Z';
const startedMs = Date.parse(started);

function handlerAt(seconds: number, statusOf: (uid: string) => object | undefined = () => undefined) {
  const events: PodEvent[] = [];
  const handler = new ActiveDeadlineHandler({
    podStatusProvider: { getPodStatus: statusOf },
    clock: new FakeClock(startedMs + seconds * 1000),
    eventRecorder: { event: (event) => void events.push(event) },
  });
  return { handler, events };
}

const pod: ValidPod = {
  metadata: { uid: 'u', name: 'web', namespace: 'ns' },
  spec: { activeDeadlineSeconds: 60 },
  status: { startTime: started },
};

describe('ActiveDeadlineHandler', () => {
  it.each<[string, ValidPod, number, boolean]>([
    ['a second before the deadline', pod, 59, false],
    ['at the deadline', pod, 60, true],
    ['after it', pod, 61, true],
    ['a deadline of 0', { ...pod, spec: { activeDeadlineSeconds: 0 } }, 0, true],
    ['no deadline', { ...pod, spec: {} }, 1000, false],
    ['no spec', { metadata: pod.metadata, status: { startTime: started } }, 1000, false],
    ['not started', { ...pod, status: {} }, 1000, false],
    ['no status', { metadata: pod.metadata, spec: pod.spec! }, 1000, false],
  ])('a pod is past its deadline: %s', (_case, of, seconds, expected) => {
    expect(handlerAt(seconds).handler.shouldSync(of)).toBe(expected);
  });

  it('the start time in the cache counts before the one of the API object', () => {
    const later = (uid: string) => (uid === 'u' ? { startTime: '2026-01-02T03:05:05Z' } : undefined);
    expect(handlerAt(119, later).handler.shouldSync(pod)).toBe(false);
    expect(handlerAt(120, later).handler.shouldSync(pod)).toBe(true);
    expect(handlerAt(1000, () => ({})).handler.shouldSync(pod)).toBe(false);
  });

  it('evicts a pod past its deadline with an event, and no other', () => {
    const before = handlerAt(59);
    expect(before.handler.shouldEvict(pod)).toBeUndefined();
    expect(before.events).toEqual([]);
    const after = handlerAt(60);
    const expected = {
      reason: 'DeadlineExceeded',
      message: 'Pod was active on the node longer than the specified deadline',
    };
    expect(after.handler.shouldEvict(pod)).toEqual(expected);
    expect(after.events).toEqual([{ pod, type: 'Normal', ...expected }]);
  });
});
