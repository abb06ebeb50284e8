import { expect, it } from 'vitest';
import type { PodTermination } from '../../../src/status-manager/pod-deletion-safety.ts';
import { SyncHarness, uidOf } from './sync-harness.ts';

const stuck = 'Pod is stuck terminating: its containers still run after the grace period';

/** The clock begins at 03:04:05; the grace period ends 10 s later. */
const termination: PodTermination = {
  podUID: uidOf('a'),
  since: '2026-01-02T03:04:05Z',
  gracePeriodSeconds: 10,
  gracePeriodEndsAt: '2026-01-02T03:04:15Z',
  lastError: 'stopContainer took over 122000 ms',
};

function harnessWith(terminations: PodTermination[]): SyncHarness {
  const podDeletionSafety = { podCouldHaveRunningContainers: () => true, terminations: () => terminations };
  const h = new SyncHarness({ podDeletionSafety });
  h.addPods('a');
  h.manager.start();
  return h;
}

it('containers that run 30 s longer than their grace period are logged once, and once when they have stopped', async () => {
  const terminations = [termination];
  const h = harnessWith(terminations);
  await h.clock.advanceAsync(39_999);
  expect(h.logger.warnings).toEqual([]);
  await h.clock.advanceAsync(120_000);
  const pod = { pod: 'default/a', podUID: uidOf('a') };
  const { since, gracePeriodSeconds, lastError: reason } = termination;
  expect(h.logger.warnings).toEqual([
    { level: 'warn', message: stuck, fields: { ...pod, since, gracePeriodSeconds, reason } },
  ]);
  terminations.pop();
  await h.clock.advanceAsync(60_000);
  expect(h.logger.warnings.slice(1)).toEqual([
    { level: 'warn', message: 'The containers of the pod have stopped', fields: pod },
  ]);
  terminations.push(termination);
  await h.clock.advanceAsync(10_000);
  expect(h.logger.warnings).toHaveLength(3);
  await h.manager.stop();
});

it('containers that stop within 30 s of their grace period are not logged', async () => {
  const terminations = [termination];
  const h = harnessWith(terminations);
  await h.clock.advanceAsync(39_000);
  terminations.pop();
  await h.clock.advanceAsync(60_000);
  expect(h.logger.warnings).toEqual([]);
  await h.manager.stop();
});

it('containers of a pod that the pod manager no longer has are logged by their UID', async () => {
  const h = harnessWith([{ ...termination, podUID: 'gone' }]);
  await h.clock.advanceAsync(60_000);
  expect(h.logger.warnings).toMatchObject([{ message: stuck, fields: { podUID: 'gone' } }]);
  await h.manager.stop();
});
