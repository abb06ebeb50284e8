import { describe, expect, it } from 'vitest';
import type { Pod } from '../../../src/kube/objects/types.ts';
import { APIError } from '../../../src/kube/client/api-error.ts';
import { conditions, SyncHarness } from './sync-harness.ts';
import { linesAtInfo } from '../../support/log-lines.ts';

const warning = 'The API server does not keep what is written into the pod status; backing off';

/** After each PATCH, the API server shows this instead. */
function rewrite(h: SyncHarness, change: (pod: Pod) => Pod): void {
  h.client.react(
    { verb: 'patch' },
    ({ namespace, name }) =>
      () =>
        h.client.put(change(h.client.pod(namespace, name)!)),
    Number.POSITIVE_INFINITY,
  );
}

function withoutMessage(pod: Pod): Pod {
  const { message: _message, ...status } = pod.status!;
  return { ...pod, status };
}

/** When PATCHes were sent, in seconds. */
function patchSeconds(h: SyncHarness): number[] {
  return h.times.filter(({ action }) => action.verb === 'patch').map(({ ms }) => ms / 1_000);
}

describe('the same body three times for the same version', () => {
  it('warns once, with the fields and who has written them, and backs off', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    rewrite(h, (pod) => {
      const stripped = withoutMessage(pod);
      const managedFields = [{ manager: 'somebody', fieldsV1: { 'f:status': { 'f:message': {} } } }];
      return { ...stripped, metadata: { ...stripped.metadata, managedFields } };
    });
    h.informed();
    h.manager.start();
    h.set('a', 'stripped');
    await h.clock.advanceAsync(90_000);
    expect(h.logger.warnings).toEqual([
      {
        level: 'warn',
        message: warning,
        fields: { pod: 'default/a', podUID: 'uid-a', statusVersion: 1, fields: ['message'], managers: ['somebody'] },
      },
    ]);
    // Two ticks after the first one to be sure, then every second tick.
    expect(patchSeconds(h)).toEqual([0, 10, 20, 30, 50, 70, 90]);
    expect(h.inspect('a')).toMatchObject({
      lastError: 'The API server does not keep what is written',
      hotLoop: { fields: ['message'], managers: ['somebody'], timesSent: 6 },
    });
    expect(h.outcomes.filter(({ outcome }) => outcome === 'hot-loop')).toMatchObject(
      Array.from({ length: 4 }, () => ({ podUID: 'uid-a', version: 1, nextTryInMs: 15_000 })),
    );
    await h.manager.stop();
  });

  it('counts as unsent in inspect() and in the metrics', async () => {
    const h = new SyncHarness();
    h.addPods('a', 'b');
    rewrite(h, withoutMessage);
    h.informed();
    h.manager.start();
    h.set('a', 'stripped');
    await h.clock.advanceAsync(65_000);
    expect(h.inspect('a')).toMatchObject({
      unsentSince: '2026-01-02T03:04:35Z',
      waitingFor: { kind: 'hot-loop', fields: ['message'] },
    });
    expect(h.metrics.statusGauges()).toMatchObject({ unsentStatuses: 1, oldestUnsentAgeSeconds: 35 });
    h.set('a', '');
    await h.clock.advanceAsync(65_000);
    expect(h.inspect('a').unsentSince).toBeUndefined();
    expect(h.metrics.statusGauges()).toMatchObject({ unsentStatuses: 0, oldestUnsentAgeSeconds: 0 });
    await h.manager.stop();
  });

  it('a new version is sent immediately, and counted from one again', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    rewrite(h, withoutMessage);
    h.informed();
    h.manager.start();
    h.set('a', 'stripped');
    await h.clock.advanceAsync(35_000);
    h.set('a', 'stripped, too');
    await h.settle();
    expect(patchSeconds(h).at(-1)).toBe(35);
    expect(h.inspect('a').lastError).toBeUndefined();
    await h.clock.advanceAsync(60_000);
    expect(h.inspect('a').waitingFor).toMatchObject({ kind: 'hot-loop' });
    // Nothing has been kept since the first line.
    expect(h.logger.warnings).toHaveLength(1);
    await h.manager.stop();
  });

  it('still counts the pod while newer versions are written and undone', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    rewrite(h, withoutMessage);
    h.informed();
    h.manager.start();
    h.set('a', 'stripped');
    await h.clock.advanceAsync(35_000);
    for (let version = 0; version < 20; version++) {
      h.set('a', `stripped ${version}`);
      await h.clock.advanceAsync(15_000);
      expect(h.metrics.statusGauges()).toMatchObject({ hotLoopPods: 1 });
    }
    await h.manager.stop();
  });

  it('ends when the API server keeps it', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    let isStripping = true;
    rewrite(h, (pod) => (isStripping ? withoutMessage(pod) : pod));
    h.informed();
    h.manager.start();
    h.set('a', 'kept in the end');
    await h.clock.advanceAsync(60_000);
    isStripping = false;
    await h.clock.advanceAsync(60_000);
    expect(h.written('a')).toBe('kept in the end');
    expect(h.inspect('a')).toMatchObject({ nextTryAt: undefined, lastError: undefined, hotLoop: undefined });
    expect(h.metrics.statusGauges()).toMatchObject({ hotLoopPods: 0 });
    expect(linesAtInfo(h.logger).at(-1)).toMatchObject({
      message: 'The API server preserves written pod statuses again',
      fields: { pod: 'default/a', fields: ['message'] },
    });
    const patches = h.count('patch');
    await h.clock.advanceAsync(600_000);
    expect(h.count('patch')).toBe(patches);
    // Another writer is noticed at the next tick: the count starts again.
    h.client.put(withoutMessage(h.client.pod('default', 'a')!));
    h.observe('a');
    await h.clock.advanceAsync(10_000);
    expect(h.count('patch')).toBe(patches + 1);
    await h.manager.stop();
  });

  it.each([0, 5, 9, 10, 11, 15, 19].flatMap((second) => [0, 0.999].map((random) => ({ second, random }))))(
    'ends within 30 s after the other writer has stopped: $second s after a write, with jitter $random',
    async ({ second, random }) => {
      const h = new SyncHarness({ random: () => random });
      h.addPods('a');
      let isUndoing = true;
      rewrite(h, (pod) => (isUndoing ? withoutMessage(pod) : pod));
      h.informed();
      h.manager.start();
      h.set('a', 'undone');
      await h.clock.advanceAsync((90 + second) * 1_000);
      expect(patchSeconds(h).at(-1)).toBe(90);
      expect(h.metrics.statusGauges()).toMatchObject({ hotLoopPods: 1 });
      isUndoing = false;
      await h.clock.advanceAsync(30_000);
      expect(h.written('a')).toBe('undone');
      expect(h.inspect('a')).toMatchObject({ nextTryAt: undefined, lastError: undefined, hotLoop: undefined });
      expect(h.metrics.statusGauges()).toMatchObject({ hotLoopPods: 0 });
      await h.manager.stop();
    },
  );

  it('detects a hot loop when another writer overwrites the status each time', async () => {
    const h = new SyncHarness().informed();
    h.addPods('a');
    h.manager.start();
    h.set('a', 'm', { conditions: conditions.ready });
    await h.settle();
    for (let minute = 0; minute < 60; minute++) {
      for (let second = 0; second < 60; second += 10) {
        const pod = h.client.pod('default', 'a')!;
        const unready = pod.status!.conditions!.map((condition) => ({ ...condition, status: 'False' }));
        h.client.put({ ...pod, status: { ...pod.status, conditions: unready } });
        h.observe('a');
        await h.clock.advanceAsync(10_000);
      }
    }
    expect(h.logger.warnings.map(({ fields }) => fields.fields)).toEqual([['conditions']]);
    // The kubelet: 360.
    expect(h.count('patch')).toBe(182);
    await h.manager.stop();
  });

  it('ends with the pod: a status that is set afterwards does not wait', async () => {
    const h = new SyncHarness();
    const [pod] = h.addPods('a');
    rewrite(h, withoutMessage);
    h.informed();
    h.manager.start();
    h.set('a', 'stripped', { phase: 'Failed' });
    h.manager.terminatePod(pod!);
    await h.clock.advanceAsync(20_000);
    const terminating = { ...h.client.pod('default', 'a')! };
    h.client.put({ ...terminating, metadata: { ...terminating.metadata, deletionTimestamp: '2026-01-02T03:04:05Z' } });
    await h.clock.advanceAsync(10_000);
    expect([h.count('patch'), h.count('delete'), h.client.pod('default', 'a')]).toEqual([4, 1, undefined]);
    h.takeRequests();
    h.set('a', 'late');
    await h.settle();
    expect(h.takeRequests()).toEqual(['get a']);
    await h.manager.stop();
  });

  it('a batch by hand sends it each time, as the kubelet does', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    rewrite(h, withoutMessage);
    h.informed();
    h.set('a', 'stripped');
    for (let i = 0; i < 6; i++) await h.manager.syncBatch(true);
    expect(h.count('patch')).toBe(6);
  });
});

describe('retryNow', () => {
  it('writes the status of a pod in a hot loop without waiting for its back-off', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    let isStripping = true;
    rewrite(h, (pod) => (isStripping ? withoutMessage(pod) : pod));
    h.informed();
    h.manager.start();
    h.set('a', 'm');
    await h.clock.advanceAsync(100_000);
    const patches = h.count('patch');
    isStripping = false;
    expect(h.manager.retryNow('uid-a')).toBe(true);
    await h.settle();
    expect([h.count('patch') - patches, h.written('a')]).toEqual([1, 'm']);
    expect(h.inspect('a')).toMatchObject({ unsentSince: undefined, waitingFor: undefined, lastError: undefined });
    await h.manager.stop();
  });

  it('tries a pod whose requests failed, but not before the API server permits', async () => {
    const h = new SyncHarness();
    h.addPods('a', 'b');
    h.manager.start();
    h.client.fail({ name: 'a' }, 422, 1);
    const pause = new APIError('429 TooManyRequests', { kind: 'http', statusCode: 429, retryAfterMs: 20_000 });
    h.client.fail({ name: 'b' }, pause, 1);
    h.set('a', 'm');
    h.set('b', 'm');
    await h.settle();
    h.manager.retryNow('uid-a');
    h.manager.retryNow('uid-b');
    await h.settle();
    expect([h.written('a'), h.written('b')]).toEqual(['m', undefined]);
    await h.clock.advanceAsync(20_000);
    expect(h.written('b')).toBe('m');
    await h.manager.stop();
  });

  it('returns false for a pod without a cached status, and is refused without a running loop', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    expect(h.manager.retryNow('uid-a')).toBe(false);
    h.set('a', 'm');
    expect(h.manager.retryNow('uid-a')).toBe(true);
    await h.settle();
    expect(h.count()).toBe(0);
    await h.manager.stop();
    expect(() => h.manager.retryNow('uid-a')).toThrow('Cannot retryNow after stop()');
    const local = new SyncHarness({ client: undefined });
    expect(() => local.manager.retryNow('uid-a')).toThrow('Cannot retryNow without a client');
  });
});
