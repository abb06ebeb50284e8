import { describe, expect, it } from 'vitest';
import type { PodTermination } from '../../../src/status-manager/pod-deletion-safety.ts';
import { podOf, SyncHarness, uidOf } from './sync-harness.ts';
import { linesAtInfo } from '../../support/log-lines.ts';

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
  expect(linesAtInfo(h.logger)).toEqual([]);
  await h.clock.advanceAsync(120_000);
  const pod = { pod: 'default/a', podUID: uidOf('a') };
  const { since, gracePeriodSeconds, lastError: reason } = termination;
  expect(linesAtInfo(h.logger)).toEqual([
    { level: 'warn', message: stuck, fields: { ...pod, since, gracePeriodSeconds, reason } },
  ]);
  terminations.pop();
  await h.clock.advanceAsync(60_000);
  expect(linesAtInfo(h.logger).slice(1)).toEqual([
    { level: 'info', message: 'The containers of the pod have stopped', fields: pod },
  ]);
  terminations.push(termination);
  await h.clock.advanceAsync(10_000);
  expect(linesAtInfo(h.logger)).toHaveLength(3);
  await h.manager.stop();
});

it('says that only the sandbox is left, also if containers have run too long before', async () => {
  const terminations = [termination];
  const h = harnessWith(terminations);
  await h.clock.advanceAsync(60_000);
  terminations[0] = { ...termination, hasRunningContainers: false, lastError: 'failed to destroy network for sandbox' };
  await h.clock.advanceAsync(60_000);
  expect(h.logger.warnings).toMatchObject([
    { message: stuck },
    {
      message: 'Pod is stuck terminating: its containers have stopped, but its sandbox cannot be stopped',
      fields: { pod: 'default/a', reason: 'failed to destroy network for sandbox' },
    },
  ]);
  h.set('a', 'x', { phase: 'Running' });
  await h.settle();
  expect(h.manager.explain('uid-a').sentence).toContain(
    'its containers have stopped, and its sandbox has been stopping',
  );
  expect(h.metrics.statusGauges()?.terminatingPods).toMatchObject([{ waitingFor: 'sandbox', count: 1 }]);
  await h.manager.stop();
});

it('a pod whose containers have stopped is named although the pod manager no longer has it', async () => {
  const terminations = [termination];
  const h = harnessWith(terminations);
  await h.clock.advanceAsync(60_000);
  terminations.pop();
  h.podManager.removePod(h.podManager.getPodByUID(uidOf('a'))!);
  await h.clock.advanceAsync(60_000);
  expect(linesAtInfo(h.logger)[1]!.fields).toEqual({ pod: 'default/a', podUID: uidOf('a') });
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
  expect(h.logger.warnings[0]!.fields).not.toHaveProperty('pod');
  await h.manager.stop();
});

describe('a pod that does not end', () => {
  const deletionTimestamp = '2026-01-02T03:00:00Z';
  const fields = { pod: 'default/a', podUID: uidOf('a'), since: '2026-01-02T03:04:15Z' };

  /** Terminates the pod `a` ten seconds after the start. */
  async function terminated(h: SyncHarness, finalizers: string[] = []): Promise<void> {
    h.informed().manager.start();
    await h.clock.advanceAsync(10_000);
    h.manager.terminatePod(h.addPod(podOf('a', { deletionTimestamp, finalizers })));
  }

  it('because containers could be running is logged once, after a minute', async () => {
    const h = new SyncHarness({ podCouldHaveRunningContainers: () => true });
    await terminated(h);
    await h.clock.advanceAsync(59_999);
    expect(h.logger.warnings).toEqual([]);
    await h.clock.advanceAsync(1);
    const message =
      'Pod is stuck terminating: the manager holds its terminal phase back while podCouldHaveRunningContainers returns true';
    expect(h.logger.warnings).toEqual([{ level: 'warn', message, fields }]);
    await h.clock.advanceAsync(600_000);
    expect(h.logger.warnings).toHaveLength(1);
    await h.manager.stop();
  });

  it('because of finalizers is logged once, after a minute, and shown with those that remain', async () => {
    const h = new SyncHarness();
    await terminated(h, ['example.com/x', 'example.com/y']);
    await h.clock.advanceAsync(120_000);
    const finalizers = ['example.com/x', 'example.com/y'];
    const message = 'Pod is stuck terminating: it has finalizers';
    expect(h.logger.warnings).toEqual([{ level: 'warn', message, fields: { ...fields, finalizers } }]);
    const pod = h.podManager.getPodByUID(uidOf('a'))!;
    h.podManager.updatePod({ ...pod, metadata: { ...pod.metadata, finalizers: ['example.com/y'] } });
    expect(h.manager.inspect().requestedDeletions).toEqual([
      { podUID: uidOf('a'), podNamespace: 'default', podName: 'a', finalizers: ['example.com/y'], since: fields.since },
    ]);
    await h.manager.stop();
  });

  it('because of finalizers is not shown if the pod manager does not know the pod, because nothing would end it', async () => {
    const h = new SyncHarness();
    const pod = podOf('a', { deletionTimestamp, finalizers: ['example.com/x'] });
    h.client.put(pod);
    h.manager.start();
    h.manager.terminatePod(pod);
    await h.clock.advanceAsync(60_000);
    expect(h.takeOutcomes()).toContainEqual(expect.stringMatching(/^deletion-requested/));
    expect(h.manager.inspect().requestedDeletions).toEqual([]);
    await h.manager.stop();
  });
});
