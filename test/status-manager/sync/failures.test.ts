import { describe, expect, it } from 'vitest';
import { APIError, type FailureClass } from '../../../src/kube/client/api-error.ts';
import { sleep } from '../../../src/shared/clock.ts';
import { RequestLimiter } from '../../../src/status-manager/sync/request-limiter.ts';
import type { FakeVerb } from '../../../src/testing/fake-pod-client.ts';
import { conditions, podOf, SyncHarness, uidOf } from './sync-harness.ts';
import { linesAtInfo } from '../../support/log-lines.ts';

const second = 1_000;
const minute = 60 * second;

function http(statusCode: number, fields: Partial<APIError> = {}): APIError {
  return new APIError(`scripted ${statusCode}`, { kind: 'http', statusCode, ...fields });
}

/** Gaps between the tries of one pod, rounded to ms. */
function gaps(times: readonly { readonly action: { readonly verb: FakeVerb }; readonly ms: number }[]): number[] {
  const tries = times.filter(({ action }) => action.verb === 'get').map(({ ms }) => ms);
  return tries.slice(1).map((ms, i) => Math.round(ms - tries[i]!));
}

interface FailureCase {
  readonly failure: FailureClass;
  readonly verb: FakeVerb;
  readonly error: Error;
  readonly firstDelays: readonly number[];
  readonly maxMs: number;
}

const failures: readonly FailureCase[] = [
  { failure: 'NotFound', verb: 'get', error: http(404), firstDelays: [1_000, 2_000, 4_000], maxMs: 30 * second },
  { failure: 'NotFound', verb: 'patch', error: http(404), firstDelays: [1_000, 2_000, 4_000], maxMs: 30 * second },
  { failure: 'Forbidden', verb: 'get', error: http(403), firstDelays: [1_000, 2_000, 4_000], maxMs: 30 * second },
  { failure: 'Forbidden', verb: 'patch', error: http(403), firstDelays: [1_000, 2_000, 4_000], maxMs: 30 * second },
  { failure: 'Invalid', verb: 'patch', error: http(422), firstDelays: [5_000, 10_000, 20_000], maxMs: 5 * minute },
  { failure: 'Invalid', verb: 'get', error: http(400), firstDelays: [5_000, 10_000, 20_000], maxMs: 5 * minute },
  { failure: 'Conflict', verb: 'patch', error: http(409), firstDelays: [0, 0, 0, 500, 1_000], maxMs: 30 * second },
  {
    failure: 'Conflict',
    verb: 'patch',
    error: http(422, { causes: [{ field: 'metadata.uid' }] }),
    firstDelays: [0, 0, 0, 500, 1_000],
    maxMs: 30 * second,
  },
  {
    failure: 'TooManyRequests',
    verb: 'patch',
    error: http(429),
    firstDelays: [1_000, 2_000, 4_000],
    maxMs: 30 * second,
  },
  { failure: 'TooManyRequests', verb: 'get', error: http(503), firstDelays: [1_000, 2_000, 4_000], maxMs: 30 * second },
  {
    failure: 'ServiceUnavailable',
    verb: 'get',
    error: http(500),
    firstDelays: [500, 1_000, 2_000],
    maxMs: 30 * second,
  },
  {
    failure: 'ServiceUnavailable',
    verb: 'get',
    error: http(401),
    firstDelays: [500, 1_000, 2_000],
    maxMs: 30 * second,
  },
  {
    failure: 'Unreachable',
    verb: 'patch',
    error: Object.assign(new Error('x'), { code: 'ECONNREFUSED' }),
    firstDelays: [500, 1_000, 2_000],
    maxMs: 30 * second,
  },
  {
    failure: 'Unreachable',
    verb: 'get',
    // A client with its own timeout.
    error: Object.assign(new Error('x'), { name: 'AbortError' }),
    firstDelays: [500, 1_000, 2_000],
    maxMs: 30 * second,
  },
];

describe('back-off by failure class', () => {
  it.each(failures)('$failure ($verb: $error.message)', async ({ failure, verb, error, firstDelays, maxMs }) => {
    // Longer than any back-off, so that only the loop's own retries are seen.
    const h = new SyncHarness({ syncPeriodMs: 3_600_000 });
    h.addPods('a');
    h.client.fail({ verb }, error, Number.POSITIVE_INFINITY);
    h.manager.start();
    h.set('a', '1');
    await h.clock.advanceAsync(2 * 60 * minute - 1);
    // The full batch of the first hour is one more try, if none is due then.
    const delays = gaps(h.times);
    expect(delays.slice(0, firstDelays.length)).toEqual(firstDelays);
    const longest = Math.max(...delays);
    // Nobody is parked for good, and nobody waits longer than the class allows.
    expect(longest).toBe(maxMs);
    const outcome = h.outcomes[0]!;
    expect(outcome).toMatchObject(
      failure === 'Invalid' || failure === 'Forbidden'
        ? { outcome: failure === 'Invalid' ? 'refused' : 'forbidden' }
        : { outcome: 'retried', failure },
    );
    expect(h.metrics.requests.filter((request) => request === `${verb} ${failure}`).length).toBe(
      h.times.filter(({ action }) => action.verb === verb).length,
    );
    expect(h.inspect('a').lastError).toBeTypeOf('string');
    await h.manager.stop();
  });

  it('jitter takes up to a fifth off, by the injected `random`', async () => {
    const h = new SyncHarness({ syncPeriodMs: 3_600_000, random: () => 0.5 });
    h.client.fail({ verb: 'get' }, 500, Number.POSITIVE_INFINITY);
    h.manager.start();
    h.set('a', '1');
    await h.clock.advanceAsync(10 * second);
    expect(gaps(h.times).slice(0, 3)).toEqual([450, 900, 1_800]);
    await h.manager.stop();
  });

  it('ends with a success: the next failure starts over', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    h.client.fail({ verb: 'get' }, 500, 3);
    h.manager.start();
    h.set('a', '1');
    await h.clock.advanceAsync(5 * second);
    expect(h.written('a')).toBe('1');
    expect(h.inspect('a')).toMatchObject({ nextTryAt: undefined, lastError: undefined });
    h.client.fail({ verb: 'get' }, 500);
    h.set('a', '2');
    await h.settle();
    expect(h.inspect('a')).toMatchObject({ nextTryAt: '2026-01-02T03:04:11Z', lastError: 'scripted 500' });
    await h.manager.stop();
  });

  it('of one pod does not delay another whose wait is shorter', async () => {
    const h = new SyncHarness();
    h.addPods('a', 'b');
    h.client.fail({ name: 'a' }, 500);
    h.client.fail({ name: 'b', verb: 'patch' }, 422);
    h.manager.start();
    h.set('a', '1');
    await h.settle();
    h.set('b', '1');
    await h.settle();
    h.takeRequests();
    await h.clock.advanceAsync(500);
    expect(h.takeRequests()).toEqual(['get a', 'patch a']);
    await h.manager.stop();
  });

  it('applies to a full batch as well', async () => {
    const h = new SyncHarness({ syncPeriodMs: second });
    h.client.fail({ verb: 'get' }, 404, Number.POSITIVE_INFINITY);
    h.manager.start();
    h.set('a', '1');
    await h.clock.advanceAsync(64 * second);
    // After 0, 1, 3, 7, 15, 31 and 63 seconds, not at each of 64 ticks.
    expect(h.count('get')).toBe(7);
    await h.manager.stop();
  });

  it('but not for a batch that is driven by hand', async () => {
    const h = new SyncHarness();
    h.client.fail({ verb: 'get' }, 404, Number.POSITIVE_INFINITY);
    h.set('a', '1');
    for (let i = 0; i < 5; i++) expect((await h.manager.syncBatch(false)).tried).toBe(1);
    expect(h.count('get')).toBe(5);
  });
});

describe('a new version', () => {
  it('is tried immediately when the last one was refused', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    h.client.fail({ verb: 'patch' }, 422);
    h.manager.start();
    h.set('a', '1');
    await h.settle();
    expect(h.logger.warnings.map(({ message }) => message)).toEqual(['The API server refuses the status of a pod']);
    h.set('a', '2');
    await h.settle();
    expect(h.written('a')).toBe('2');
    await h.manager.stop();
  });

  it('that was read instead is the one that counts as refused', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    h.client.fail({ verb: 'patch' }, 422, Number.POSITIVE_INFINITY);
    const release = h.client.hold({ verb: 'get' }, 1);
    h.manager.start();
    h.set('a', '1');
    await h.settle();
    h.set('a', '2');
    release();
    await h.settle();
    expect(h.takeOutcomes()).toEqual(['superseded 1', 'refused 2']);
    expect(h.count('patch')).toBe(1);
    await h.manager.stop();
  });

  it.each([404, 500, 429])('waits as long as the failed one after %i', async (code) => {
    const h = new SyncHarness();
    h.addPods('a');
    h.client.fail({ verb: 'get' }, code);
    h.manager.start();
    h.set('a', '1');
    await h.settle();
    for (let i = 2; i < 10; i++) {
      h.set('a', String(i));
      await h.settle();
    }
    expect(h.count('get')).toBe(1);
    await h.clock.advanceAsync(1_000);
    expect(h.written('a')).toBe('9');
    await h.manager.stop();
  });
});

describe('a UID that is not the object’s', () => {
  it('is read again without back-off, and the status of a pod that was recreated is dropped', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    h.client.react({ verb: 'get' }, () => () => h.client.put(podOf('a', { uid: 'another' })));
    h.manager.start();
    h.set('a', '1');
    await h.settle();
    expect(h.takeRequests()).toEqual(['get a', 'patch a', 'get a']);
    expect(h.clock.monotonicMs()).toBe(0);
    expect(h.client.pod('default', 'a')?.status).toEqual({ phase: 'Pending' });
    expect(h.manager.inspect().pods).toEqual([]);
    expect(h.takeOutcomes()).toEqual(['retried 1', 'gone 1']);
    await h.manager.stop();
  });
});

describe('static pods', () => {
  const staticPod = podOf('s', { annotations: { 'kubernetes.io/config.source': 'file' } });
  const mirror = podOf('s', { uid: 'mirror-s', annotations: { 'kubernetes.io/config.mirror': 'x' } });

  it.each(['strategic-merge', 'json-patch'] as const)(
    'are sent to each new mirror immediately, however often it is recreated: %s',
    async (patchStrategy) => {
      const h = new SyncHarness({ patchStrategy });
      h.podManager.addPod(staticPod);
      h.manager.start();
      h.set('s', 'ran');
      for (let i = 0; i < 5; i++) {
        const next = { ...mirror, metadata: { ...mirror.metadata, uid: `mirror-${i}` } };
        h.addPod(next);
        await h.settle();
        expect(h.written('s')).toBe('ran');
        h.client.remove('default', 's');
        h.podManager.removePod(next);
      }
      expect(h.inspect('s').hotLoop).toBeUndefined();
      await h.manager.stop();
    },
  );

  it('are sent to a new mirror immediately, although the requests for the earlier one failed', async () => {
    const h = new SyncHarness();
    h.podManager.addPod(staticPod);
    h.addPod(mirror);
    h.client.react(
      { verb: 'patch' },
      () => Promise.reject(new APIError('422 Invalid', { kind: 'http', statusCode: 422 })),
      1,
    );
    h.manager.start();
    h.set('s', 'ran');
    await h.settle();
    expect(h.takeOutcomes()).toEqual(['refused 1']);
    h.client.remove('default', 's');
    h.podManager.removePod(mirror);
    h.addPod({ ...mirror, metadata: { ...mirror.metadata, uid: 'mirror-2' } });
    await h.settle();
    expect(h.written('s')).toBe('ran');
    await h.manager.stop();
  });

  it('without a known mirror are not read and not put off: they are sent when there is one', async () => {
    const h = new SyncHarness({ syncPeriodMs: second });
    h.podManager.addPod(staticPod);
    h.manager.start();
    h.set('s', '1');
    await h.clock.advanceAsync(30 * second);
    expect(h.count()).toBe(0);
    h.addPod(mirror);
    await h.clock.advanceAsync(second);
    expect(h.written('s')).toBe('1');
    await h.manager.stop();
  });

  it('whose mirror is another than the pod manager knows keep their status and are tried again', async () => {
    const h = new SyncHarness({ syncPeriodMs: second });
    h.podManager.addPod(staticPod);
    h.addPod(mirror);
    const recreated = { ...mirror, metadata: { ...mirror.metadata, uid: 'mirror-2' } };
    h.client.put(recreated);
    h.manager.start();
    h.set('s', '1');
    await h.settle();
    expect(h.takeRequests()).toEqual(['get s']);
    h.podManager.removePod(mirror);
    h.podManager.addPod(recreated);
    await h.clock.advanceAsync(2 * second);
    expect(h.written('s')).toBe('1');
    await h.manager.stop();
  });
});

describe('throttling', () => {
  it('pauses all for a second once two pods were refused, when the server does not say for how long', async () => {
    const h = new SyncHarness();
    h.addPods('a', 'b', 'c');
    h.client.fail({ name: 'a' }, 503);
    h.client.fail({ name: 'b' }, 503);
    h.manager.start();
    h.set('a', '1');
    h.set('b', '1');
    await h.settle();
    expect(h.takeRequests()).toEqual(['get a', 'get b']);
    h.set('c', '1');
    await h.clock.advanceAsync(999);
    expect(h.takeRequests()).toEqual([]);
    await h.clock.advanceAsync(1);
    expect(h.takeRequests()).toContain('get c');
    await h.manager.stop();
  });

  it('pauses nothing if a status was written between the two refusals', async () => {
    const h = new SyncHarness();
    h.addPods('a', 'b', 'c', 'd');
    h.client.fail({ name: 'a' }, 503);
    h.client.fail({ name: 'c' }, 503);
    h.manager.start();
    for (const name of ['a', 'b', 'c', 'd']) {
      h.set(name, '1');
      await h.settle();
    }
    expect(h.takeRequests()).toEqual(['get a', 'get b', 'patch b', 'get c', 'get d', 'patch d']);
    await h.manager.stop();
  });

  it('a status that was dropped and set again while it waited is sent as it was set last', async () => {
    const h = new SyncHarness({ qps: 1, burst: 1 });
    h.addPods('a');
    h.manager.start();
    h.set('a', 'dropped');
    await h.settle();
    expect(h.takeRequests()).toEqual(['get a']);
    h.manager.removeOrphanedStatuses([]);
    h.set('a', 'set again');
    await h.clock.advanceAsync(1_000);
    expect(h.takeRequests()).toEqual(['patch a']);
    expect(h.written('a')).toBe('set again');
    await h.manager.stop();
  });

  it.each<[string, FakeVerb, number]>([
    ['a 429', 'patch', 429],
    ['a 503', 'get', 503],
    ['a 429 to DELETE', 'delete', 429],
  ])(
    '%s with Retry-After held up every pod of the process: now it holds up the pod that got it',
    async (_what, verb, code) => {
      const h = new SyncHarness();
      const pod = h.addPod(podOf('a', { deletionTimestamp: '2026-01-02T03:04:05Z' }));
      h.addPods('b', 'c');
      h.client.fail({ verb, name: 'a' }, http(code, { retryAfterMs: 17_000 }));
      h.manager.start();
      h.manager.terminatePod(pod);
      await h.settle();
      h.takeRequests();
      h.set('b', '1');
      h.set('c', '1');
      await h.clock.advanceAsync(16_999);
      expect([h.written('b'), h.written('c')]).toEqual(['1', '1']);
      expect(h.takeRequests().filter((request) => request.endsWith(' a'))).toEqual([]);
      await h.clock.advanceAsync(10_001);
      expect(h.client.pod('default', 'a')).toBeUndefined();
      await h.manager.stop();
    },
  );

  it('Retry-After is obeyed for all pods once a second one is refused, and the order of the queue holds', async () => {
    const h = new SyncHarness();
    h.addPods('a', 'b', 'c', 'd');
    h.client.fail({ verb: 'patch', name: 'a' }, http(429, { retryAfterMs: 30_000 }));
    h.client.fail({ verb: 'patch', name: 'b' }, http(429, { retryAfterMs: 17_000 }));
    h.manager.start();
    h.set('a', '1');
    h.set('b', '1');
    await h.settle();
    h.takeRequests();
    h.set('c', '1');
    h.set('d', '1', { conditions: conditions.ready });
    await h.clock.advanceAsync(16_999);
    expect(h.takeRequests()).toEqual([]);
    await h.clock.advanceAsync(1);
    expect(h.takeRequests()[0]).toBe('get d');
    expect([h.written('a'), h.written('b'), h.written('c')]).toEqual([undefined, '1', '1']);
    await h.clock.advanceAsync(13_000);
    expect(h.written('a')).toBe('1');
    await h.manager.stop();
    expect(h.clock.pendingTimers).toBe(0);
  });

  it('a full batch that finds nothing to send does not end Retry-After: the next version waits for it', async () => {
    const h = new SyncHarness({ syncPeriodMs: 10 * second });
    const pod = h.addPod(podOf('a', { deletionTimestamp: '2026-01-02T03:04:05Z' }));
    h.client.fail({ verb: 'delete' }, http(503, { retryAfterMs: minute }));
    h.manager.start();
    h.manager.terminatePod(pod);
    await h.settle();
    expect(h.takeRequests()).toEqual(['get a', 'patch a', 'delete a']);
    h.podManager.removePod(pod);
    await h.clock.advanceAsync(10 * second);
    h.podManager.addPod(pod);
    h.manager.setPodStatus(pod, { phase: 'Failed', message: 'late' });
    await h.clock.advanceAsync(50 * second - 1);
    expect(h.takeRequests()).toEqual([]);
    await h.clock.advanceAsync(1);
    expect(h.takeRequests()).toContain('delete a');
    await h.manager.stop();
  });

  it('a pod that always gets 503, without Retry-After, does not stop the others', async () => {
    const h = new SyncHarness();
    h.addPods('a', 'b');
    h.client.fail({ verb: 'patch', name: 'a' }, 503, Number.POSITIVE_INFINITY);
    h.manager.start();
    h.set('a', '1');
    await h.clock.advanceAsync(10 * minute);
    for (let i = 0; i < 100; i++) {
      h.set('b', String(i));
      await h.clock.advanceAsync(second);
      expect(h.written('b')).toBe(String(i));
    }
    await h.manager.stop();
  });

  it('with qps and burst there are never more requests than the bucket holds', async () => {
    const h = new SyncHarness({ qps: 5, burst: 10 }).informed();
    const names = Array.from({ length: 100 }, (_, i) => `p${i}`);
    h.addPods(...names);
    h.manager.start();
    for (const name of names) h.set(name, '1');
    await h.clock.advanceAsync(minute);
    expect(names.every((name) => h.written(name) === '1')).toBe(true);
    expect(h.times.length).toBe(200);
    for (const [i, { ms }] of h.times.entries()) {
      const inSecond = h.times.slice(i).filter((other) => other.ms < ms + second).length;
      expect(inSecond).toBeLessThanOrEqual(15);
    }
    // 200 requests: 10 immediately, 190 at 5 per second.
    expect(h.times.at(-1)!.ms).toBeGreaterThanOrEqual(38 * second);
    expect(h.times.at(-1)!.ms).toBeLessThan(39 * second);
    await h.manager.stop();
  });

  it('a limiter that two managers share counts for both, and pauses the one whose client is refused only', async () => {
    const first = new SyncHarness();
    const limiter = new RequestLimiter({ qps: 2, burst: 2, clock: first.clock });
    const shared = { limiter, clock: first.clock };
    const [a, b] = [new SyncHarness(shared), new SyncHarness(shared)];
    for (const h of [a, b]) {
      h.addPods('p', 'q');
      h.manager.start();
      h.set('p', '1');
      h.set('q', '1');
    }
    await first.clock.advanceAsync(second);
    expect(a.count() + b.count()).toBe(4);
    await first.clock.advanceAsync(5 * second);
    expect(a.count() + b.count()).toBe(8);

    a.client.fail({ verb: 'get' }, http(429, { retryAfterMs: 50_000 }), Number.POSITIVE_INFINITY);
    a.set('p', '2');
    a.set('q', '2');
    await first.clock.advanceAsync(2 * second);
    const refused = a.count();
    b.set('p', '2');
    await first.clock.advanceAsync(2 * second);
    expect(b.written('p')).toBe('2');
    await first.clock.advanceAsync(40 * second);
    expect(a.count()).toBe(refused);
    await a.manager.stop();
    expect(a.manager.state).toBe('stopped');
    b.set('p', '3');
    await first.clock.advanceAsync(2 * second);
    expect(b.written('p')).toBe('3');
    await b.manager.stop();
    expect(first.clock.pendingTimers).toBe(0);
  });

  it('managers that share `maxInFlight` take turns, and can stop while waiting for theirs', async () => {
    const first = new SyncHarness();
    const limiter = new RequestLimiter({ maxInFlight: 1, clock: first.clock });
    const shared = { limiter, clock: first.clock, syncPeriodMs: 3_600_000 };
    const [a, b, c] = [new SyncHarness(shared), new SyncHarness(shared), new SyncHarness(shared)];
    const gets: string[] = [];
    for (const [name, h] of Object.entries({ a, b, c })) {
      h.addPods('p', 'q', 'r');
      const slowly = async (signal: AbortSignal): Promise<void> => {
        gets.push(name);
        await sleep(first.clock, second, signal);
      };
      h.client.react({ verb: 'get' }, (_action, signal) => slowly(signal), Number.POSITIVE_INFINITY);
      h.manager.start();
      for (const pod of ['p', 'q', 'r']) h.set(pod, '1');
    }
    await first.clock.advanceAsync(3 * second + 500);
    expect(gets).toEqual(['a', 'b', 'c', 'a']);
    await b.manager.stop();
    await first.clock.advanceAsync(10 * second);
    expect(gets).toEqual(['a', 'b', 'c', 'a', 'c', 'a', 'c']);
    await a.manager.stop();
    await c.manager.stop();
    expect(first.clock.pendingTimers).toBe(0);
  });
});

describe('a DELETE that fails', () => {
  it.each([404, 409, 500])('with %i is tried again by full batches only, with back-off', async (code) => {
    const h = new SyncHarness({ syncPeriodMs: 10_000 }).informed();
    const pod = h.addPod(podOf('a', { deletionTimestamp: '2026-01-02T03:04:05Z' }));
    h.client.fail({ verb: 'delete' }, code, 5);
    h.manager.start();
    h.manager.terminatePod(pod);
    await h.clock.advanceAsync(9_999);
    expect(h.count('delete')).toBe(1);
    expect(h.outcomes.map(({ outcome }) => outcome)).toEqual(['written', 'retried']);
    expect(h.inspect('a').lastError).toBe(`scripted ${code}`);
    await h.clock.advanceAsync(10 * minute);
    const deletes = h.times.filter(({ action }) => action.verb === 'delete');
    expect(deletes).toHaveLength(6);
    for (const { ms } of deletes.slice(1)) expect(ms % 10_000).toBe(0);
    expect(h.client.pod('default', 'a')).toBeUndefined();
    expect(h.manager.inspect().pods).toEqual([]);
    await h.manager.stop();
  });
});

describe('a pod that waits after a failed DELETE', () => {
  it('is sent its new version when the wait is over, though the timer went off for another pod before', async () => {
    const h = new SyncHarness({ syncPeriodMs: 3_600_000 });
    const pod = h.addPod(podOf('a', { deletionTimestamp: '2026-01-02T03:04:05Z' }));
    h.addPods('b');
    h.client.fail({ verb: 'delete' }, http(500, { retryAfterMs: 30_000 }));
    h.client.fail({ verb: 'get', name: 'b' }, 500);
    h.manager.start();
    h.manager.terminatePod(pod);
    await h.settle();
    h.set('b', '1');
    await h.clock.advanceAsync(5_000);
    h.manager.setPodStatus(pod, { phase: 'Failed', message: 'late' });
    await h.clock.advanceAsync(25_000);
    expect(h.client.pod('default', 'a')).toBeUndefined();
    await h.manager.stop();
  });
});

describe('the failure is shown', () => {
  it('with class, verb, reason and next try in the log', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    h.client.fail({ verb: 'patch' }, 500);
    h.manager.start();
    h.set('a', '1');
    await h.settle();
    expect(h.logger.lines.filter(({ message }) => message === 'Failed to update status for pod')).toEqual([
      {
        level: 'debug',
        message: 'Failed to update status for pod',
        fields: {
          pod: 'default/a',
          podUID: uidOf('a'),
          statusVersion: 1,
          verb: 'patch',
          failure: 'ServiceUnavailable',
          nextTryInMs: 500,
          reason: 'scripted 500',
        },
      },
    ]);
    await h.manager.stop();
  });
});

it('a refusal is logged at warn once for each reason, not at each try or version, and its end at info', async () => {
  const h = new SyncHarness();
  h.addPods('a');
  const refuse = (reason: string): void =>
    h.client.fail({ verb: 'patch' }, new APIError(reason, { kind: 'http', statusCode: 422 }), 3);
  h.manager.start();
  for (const reason of ['422 Invalid: status.phase', '422 Invalid: status.podIP']) {
    refuse(reason);
    for (const version of ['1', '2', '3']) {
      h.set('a', `${reason} ${version}`);
      await h.settle();
    }
  }
  h.set('a', 'valid');
  await h.settle();
  const lines = h.logger.lines.filter(({ level }) => level !== 'debug');
  expect(lines.map(({ level, message, fields }) => [level, message, fields['reason'] ?? fields['failures']])).toEqual([
    ['info', 'Starting to sync pod status with apiserver', undefined],
    ['warn', 'The API server refuses the status of a pod', '422 Invalid: status.phase'],
    ['warn', 'The API server refuses the status of a pod', '422 Invalid: status.podIP'],
    ['info', 'Requests for the pod succeed again', 6],
  ]);
  await h.manager.stop();
});

it('a pod that is forbidden is logged at warn, and at debug if the pod manager no longer has it', async () => {
  const h = new SyncHarness();
  const [, b] = h.addPods('a', 'b');
  h.client.fail({ verb: 'get' }, 403, 2);
  h.set('a', '1');
  h.set('b', '1');
  h.podManager.removePod(b!);
  await h.manager.syncBatch(false);
  const message = 'The API server forbids reading or updating the status of a pod';
  const lines = h.logger.lines.filter((line) => line.message === message);
  expect(lines.map(({ level, fields }) => [level, fields['pod']])).toEqual([
    ['warn', 'default/a'],
    ['debug', 'default/b'],
  ]);
});

describe('an unexpected non-HTTP error of the client', () => {
  it('is logged with its message at warn, once in a row: a TypeError inside a mock appeared nowhere', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    h.client.fail({ verb: 'get' }, new TypeError("Cannot read properties of undefined (reading 'body')"), 3);
    h.manager.start();
    h.set('a', '1');
    await h.clock.advanceAsync(10_000);
    expect(linesAtInfo(h.logger)).toMatchObject([
      {
        message: 'The client failed with an unexpected non-HTTP error (bug in the client?)',
        fields: {
          pod: 'default/a',
          verb: 'get',
          reason: "request failed: TypeError: Cannot read properties of undefined (reading 'body')",
        },
      },
      { message: 'Requests for the pod succeed again', fields: { pod: 'default/a', failures: 3 } },
    ]);
    expect(h.written('a')).toBe('1');
    await h.manager.stop();
  });

  it('does not show what may be a credential', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    h.client.fail({ verb: 'get' }, new TypeError('Invalid header: "Authorization: Bearer sEcReT-0123456789abcdef"'));
    h.manager.start();
    h.set('a', '1');
    await h.settle();
    expect(h.logger.warnings).toHaveLength(1);
    expect(JSON.stringify([h.logger.lines, h.inspect('a'), h.outcomes[0]])).not.toContain('sEcReT');
    await h.manager.stop();
  });
});

describe('403', () => {
  it.each(['get', 'patch'] as const)(
    'to a %s while a role binding is missing: everything is written within 30 s after it is back, terminal statuses took 85 s',
    async (verb) => {
      const h = new SyncHarness({ random: () => 0.5 });
      const names = Array.from({ length: 20 }, (_, i) => `p${i}`);
      h.addPods(...names);
      h.manager.start();
      let isBound = false;
      h.client.react(
        { verb },
        () => {
          if (!isBound) throw http(403);
        },
        Number.POSITIVE_INFINITY,
      );
      for (const name of names) h.set(name, 'ended', { phase: 'Succeeded' });
      await h.clock.advanceAsync(10 * minute);
      isBound = true;
      await h.clock.advanceAsync(30 * second);
      expect(names.map((name) => h.written(name))).toEqual(names.map(() => 'ended'));
      await h.manager.stop();
    },
  );

  it('after an outage: the API server starts and knows no roles yet; the wait that has grown is not doubled', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    let code: number | undefined = 500;
    h.client.react(
      {},
      () => {
        if (code !== undefined) throw http(code);
      },
      Number.POSITIVE_INFINITY,
    );
    h.manager.start();
    h.set('a', 'ended', { phase: 'Succeeded' });
    await h.clock.advanceAsync(10 * minute);
    code = 403;
    await h.clock.advanceAsync(40 * second);
    code = undefined;
    await h.clock.advanceAsync(30 * second);
    expect(h.written('a')).toBe('ended');
    await h.manager.stop();
  });

  it('a new version of a pod that the pod manager shows is tried within a second, others wait with their pod', async () => {
    const h = new SyncHarness();
    h.addPods('shown');
    h.client.put(podOf('hidden'));
    h.client.fail({ verb: 'get' }, 403, Number.POSITIVE_INFINITY);
    h.manager.start();
    for (const name of ['shown', 'hidden']) h.set(name, '1');
    await h.clock.advanceAsync(5 * minute);
    h.takeRequests();
    for (const name of ['shown', 'hidden']) h.set(name, '2');
    await h.clock.advanceAsync(1 * second);
    expect(h.takeRequests()).toEqual(['get shown']);
    await h.manager.stop();
  });

  it('has an outcome of its own, and whenWritten stays pending', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    h.client.fail({ verb: 'patch' }, 403);
    h.manager.start();
    h.set('a', '1');
    const written = h.manager.whenWritten(uidOf('a'));
    await h.clock.advanceAsync(2 * second);
    expect(h.outcomes).toMatchObject([{ outcome: 'forbidden', nextTryInMs: 1_000 }, { outcome: 'written' }]);
    expect(await written).toEqual({ written: true, version: 1 });
    await h.manager.stop();
  });
});

it('a pod that the pod manager shows is not given up for minutes because of a 404', async () => {
  const h = new SyncHarness();
  h.addPods('a');
  h.client.remove('default', 'a');
  h.manager.start();
  h.set('a', '1');
  await h.clock.advanceAsync(30 * minute);
  h.client.put(podOf('a'));
  await h.clock.advanceAsync(30 * second);
  expect(h.written('a')).toBe('1');
  await h.manager.stop();
});

it('a refused DELETE says so once, and waits longer each time', async () => {
  const h = new SyncHarness().informed();
  const pod = h.addPod(podOf('a', { deletionTimestamp: '2026-01-02T03:04:05Z' }));
  h.client.fail({ verb: 'delete' }, 403, Number.POSITIVE_INFINITY);
  h.manager.start();
  h.manager.terminatePod(pod);
  await h.clock.advanceAsync(120 * second);
  expect(h.times.filter(({ action }) => action.verb === 'delete').map(({ ms }) => ms / second)).toEqual([
    0, 10, 20, 40, 80,
  ]);
  expect(h.logger.warnings.map(({ message }) => message)).toEqual(['The API server refuses to delete a pod']);
  expect(h.takeOutcomes()).toEqual(['written 1', ...Array.from({ length: 5 }, () => 'refused 1')]);
  await h.manager.stop();
});
