import { describe, expect, it } from 'vitest';
import { BackOffError } from '../../../src/node/pod-workers/next-sync-delay.ts';
import type { PodWorkersOptions } from '../../../src/node/pod-workers/pod-workers-options.ts';
import { createPodWorkers, drainAllWorkers, newNamedPod } from './recording-pod-syncer.ts';

const backoff = (seconds: number): BackOffError => new BackOffError('backoff error', seconds * 1000);

/** After how many milliseconds a pod is due whose sync ended with `error`. */
async function delayMsOf(error: Error | undefined, random: PodWorkersOptions['random'] = () => 0): Promise<number> {
  const t = createPodWorkers({ random });
  if (error !== undefined) t.syncer.failures.set('1', [error]);
  t.workers.updatePod({ updateType: 'create', pod: newNamedPod('1', 'ns', 'pod') });
  await drainAllWorkers(t);
  let delayMs = 0;
  while (t.workers.statuses.getWork().length === 0) {
    t.clock.advance(250);
    delayMs += 250;
  }
  return delayMs;
}

describe('TestCompleteWork_Enqueue', () => {
  it.each([
    ['no error uses regular resync interval', undefined, 60_000],
    ['generic error uses default backoff', new Error('generic error'), 10_000],
    ["BackoffError uses error's backoff", backoff(5), 5000],
    [
      'Aggregate error with one BackoffError uses its backoff',
      new AggregateError([new Error('some other error'), backoff(7)]),
      7000,
    ],
    [
      'Aggregate error with multiple BackoffErrors uses minimum backoff',
      new AggregateError([backoff(10), backoff(3)]),
      3000,
    ],
    ['BackoffError in the past enqueues for immediate processing with jitter', backoff(-5), 0],
    ['Excessively long backoff duration enqueues for the maximum allowed', backoff(90), 60_000],
    ['a cause counts', new Error('wrapped', { cause: backoff(5) }), 5000],
  ])('%s', async (_, error, expectedMs) => {
    expect(await delayMsOf(error)).toBe(expectedMs);
    // Up to half as much is added at random.
    expect(await delayMsOf(error, () => 0.5)).toBe(expectedMs * 1.25);
  });

  it('phase transition requeues for immediate processing', async () => {
    const t = createPodWorkers();
    t.syncer.terminal.add('1');
    t.workers.updatePod({ updateType: 'create', pod: newNamedPod('1', 'ns', 'pod') });
    await drainAllWorkers(t);
    // No time has passed, and it is done.
    expect(t.workers.statuses.shouldPodBeFinished('1')).toBe(true);
    t.clock.advance(3_600_000);
    expect(t.workers.statuses.getWork()).toEqual([]);
  });
});

describe('TestCompleteWork_PendingUpdate', () => {
  it('with nil pendingUpdate, clears working status; with non-nil pendingUpdate, continues with the update', async () => {
    const t = createPodWorkers();
    const release = t.syncer.hold('1');
    t.workers.updatePod({ updateType: 'create', pod: newNamedPod('1', 'ns', 'pod') });
    await drainAllWorkers(t);
    t.workers.updatePod({ updateType: 'update', pod: newNamedPod('1', 'ns', 'pod') });
    expect(t.workers.statuses.inspect()).toMatchObject([{ isWorking: true }]);
    release();
    await drainAllWorkers(t);
    expect(t.syncer.processed.get('1')?.map(({ call }) => call)).toEqual(['create', 'update']);
    expect(t.workers.statuses.inspect()).toMatchObject([{ isWorking: false }]);
  });
});
