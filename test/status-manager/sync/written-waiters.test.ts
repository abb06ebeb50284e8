import { describe, expect, it } from 'vitest';
import { APIError } from '../../../src/kube/client/api-error.ts';
import type { StatusOutcome } from '../../../src/status-manager/sync/status-outcome.ts';
import { PodRecord } from '../../../src/status-manager/sync/pod-records.ts';
import { addWaiter, settleWaiters, stopWaiters } from '../../../src/status-manager/sync/outcomes.ts';

const subject = { podUID: 'a', podNamespace: 'default', podName: 'web' };
const error = new APIError('422 Invalid', { kind: 'http', statusCode: 422 });
const at = (version: number, outcome: object): StatusOutcome => ({ ...subject, version, ...outcome }) as StatusOutcome;

/** The results of the waiters for versions 1 to 3, as far as they have resolved. */
async function resultsAfter(...outcomes: StatusOutcome[]): Promise<unknown[]> {
  const record = new PodRecord('a');
  const results: unknown[] = [undefined, undefined, undefined];
  for (const i of [0, 1, 2]) void addWaiter(record, i + 1).then((result) => (results[i] = result));
  for (const outcome of outcomes) settleWaiters(record, outcome);
  await Promise.resolve();
  expect(record.isAtRest).toBe(!results.includes(undefined));
  return results;
}

describe('whenWritten', () => {
  it.each(['written', 'unchanged', 'reconciled'])('%s settles this version and older ones', async (outcome) => {
    const written = { written: true, version: 2 };
    expect(await resultsAfter(at(2, { outcome }))).toEqual([written, written, undefined]);
  });

  it.each(['removed', 'recreated', 'outdated'])(
    'a pod that is gone (%s) settles them with the reason',
    async (reason) => {
      const gone = { written: false, reason };
      expect(await resultsAfter(at(2, { outcome: 'gone', reason }))).toEqual([gone, gone, undefined]);
    },
  );

  it('a refused version settles them with the error', async () => {
    const refused = { written: false, reason: 'refused', error };
    expect(await resultsAfter(at(2, { outcome: 'refused', error }))).toEqual([refused, refused, undefined]);
  });

  it.each(['forbidden', 'retried', 'superseded', 'hot-loop', 'deletion-requested', 'deleted'])(
    '%s settles nothing',
    async (outcome) => {
      expect(await resultsAfter(at(3, { outcome }))).toEqual([undefined, undefined, undefined]);
    },
  );

  it('the first outcome that settles a version counts', async () => {
    const [first, second] = [at(1, { outcome: 'written' }), at(3, { outcome: 'gone', reason: 'removed' })];
    const gone = { written: false, reason: 'removed' };
    expect(await resultsAfter(first, second)).toEqual([{ written: true, version: 1 }, gone, gone]);
  });

  it('stop settles all, once', async () => {
    const record = new PodRecord('a');
    const results: unknown[] = [];
    for (const version of [1, 2]) void addWaiter(record, version).then((result) => results.push(result));
    stopWaiters(record);
    settleWaiters(record, at(1, { outcome: 'written' }));
    await Promise.resolve();
    expect(results).toEqual([
      { written: false, reason: 'stopped' },
      { written: false, reason: 'stopped' },
    ]);
  });
});
