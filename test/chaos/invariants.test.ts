import { describe, expect, it } from 'vitest';
import type { Json } from '../support/kube-http.ts';
import type { Call } from './faulty-proxy.ts';
import type { HistoryEvent } from './history.ts';
import {
  checkConcurrency,
  checkDeletes,
  checkForeignConditions,
  checkFaults,
  checkPauses,
  checkTunnel,
  checkRate,
  checkTerminalIsFinal,
  checkVersions,
  differenceTo,
  type Violation,
} from './invariants.ts';
import { messageOf } from './protocol.ts';
import { foreignConditionType } from './users.ts';

function history(...statuses: readonly Json[]): HistoryEvent[] {
  return statuses.map((status, i) => ({
    type: 'MODIFIED',
    resourceVersion: i,
    pod: { metadata: { uid: 'a', name: 'pod-0' }, status },
  }));
}

function version(number: number, uid = 'a'): Json {
  return { message: messageOf(number, uid) };
}

function foreign(message: string): Json {
  return { conditions: [{ type: foreignConditionType, message }] };
}

function call(overrides: Partial<Call>): Call {
  return {
    kind: 'patch',
    pod: 'default/pod-0',
    incarnation: 1,
    fault: undefined,
    arrivedAtMs: 0,
    endedAtMs: 10,
    endedBy: 'response',
    proxyLagMs: 0,
    status: 200,
    retryAfterMs: undefined,
    uid: 'a',
    ...overrides,
  };
}

function deletion(overrides: Partial<Call> = {}, deleted: Json = {}): Call {
  return call({
    kind: 'delete',
    arrivedAtMs: 100,
    endedAtMs: 110,
    deletion: {
      gracePeriodSeconds: 0,
      deleted: { phase: 'Failed', deletionTimestamp: '2000-01-01T00:00:00Z', ...deleted },
    },
    ...overrides,
  });
}

function invariantsOf(violations: readonly Violation[]): string[] {
  return violations.map(({ invariant }) => invariant);
}

/** A check that never finds anything would let every chaos run pass. */
describe('the invariants of the chaos run', () => {
  it.each<[string, readonly HistoryEvent[], readonly string[]]>([
    ['that increase', history(version(1), version(1), version(2)), []],
    ['that decrease', history(version(2), version(1)), ['versions never decrease']],
    ['that are lost', history(version(2), {}), ['versions never decrease']],
    ['of another pod', history(version(1, 'b')), ['no write to another UID']],
  ])('versions %s', (_what, events, expected) => {
    expect(invariantsOf(checkVersions(events))).toEqual(expected);
  });

  it.each<[string, readonly Json[], number]>([
    ['stays', [{ phase: 'Running' }, { phase: 'Failed' }, { phase: 'Failed' }], 0],
    ['becomes Running again', [{ phase: 'Failed' }, { phase: 'Running' }], 1],
    ['changes to the other one', [{ phase: 'Failed' }, { phase: 'Succeeded' }], 1],
  ])('a terminal phase that %s', (_what, statuses, count) => {
    expect(checkTerminalIsFinal(history(...statuses))).toHaveLength(count);
  });

  it.each<[string, readonly Json[], number]>([
    ['renewed', [{}, foreign('f1'), foreign('f2')], 0],
    ['overwritten with an older one', [foreign('f2'), foreign('f1')], 1],
    ['removed', [foreign('f1'), {}], 1],
  ])('a foreign condition that is %s', (_what, statuses, count) => {
    expect(checkForeignConditions(history(...statuses))).toHaveLength(count);
  });

  it.each<[string, readonly Call[], readonly string[]]>([
    ['that is correct', [deletion()], []],
    ['with a grace period', [deletion({ deletion: { ...deletion().deletion!, gracePeriodSeconds: 30 } })], ['grace']],
    ['without a UID', [deletion({ uid: undefined })], ['UID']],
    ['before the containers had terminated', [deletion({ arrivedAtMs: 49 })], ['before']],
    ['of a running pod', [deletion({}, { phase: 'Running' })], ['in phase Running']],
    ['without a deletionTimestamp', [deletion({}, { deletionTimestamp: undefined })], ['not requested']],
    ['twice', [deletion(), deletion()], ['twice']],
    ['again by a later agent', [deletion(), deletion({ incarnation: 2 })], []],
    ['again after the response was lost', [deletion({ endedBy: 'proxy', status: undefined }), deletion()], []],
    ['again after an unreadable response', [deletion({ fault: 'html-response' }), deletion()], []],
    ['again after a new status', [deletion(), call({}), deletion()], []],
    ['that was refused', [deletion({ deletion: { gracePeriodSeconds: 0, deleted: undefined } })], []],
  ])('a DELETE %s', (_what, calls, expected) => {
    const violations = checkDeletes(calls, new Map([['a', 50]]));
    expect(violations).toHaveLength(expected.length);
    for (const [i, text] of expected.entries()) expect(violations[i]?.details).toContain(text);
  });

  it.each<[string, readonly Call[], readonly string[]]>([
    ['one after the other', [call({}), call({ arrivedAtMs: 10, endedAtMs: 20 })], []],
    ['for two pods at the same time', [call({}), call({ uid: 'b' })], []],
    ['for three pods at the same time', [call({}), call({ uid: 'b' }), call({ uid: 'c' })], ['concurrency']],
    ['for one pod at the same time', [call({}), call({ arrivedAtMs: 9 })], ['one write per pod']],
    ['of two agents', [call({}), call({ incarnation: 2 })], []],
    [
      'aborted by the agent a moment ago',
      [call({ endedBy: 'agent', endedAtMs: 1_100 }), call({ arrivedAtMs: 300, endedAtMs: 1_100 })],
      [],
    ],
    [
      'aborted by the agent while the proxy itself was blocked: a saturated machine reported 9 of 8',
      [
        call({ endedBy: 'agent', endedAtMs: 4_100, proxyLagMs: 3_000 }),
        call({ arrivedAtMs: 1_500, endedAtMs: 4_100, uid: 'b' }),
        call({ arrivedAtMs: 1_500, endedAtMs: 4_100, uid: 'c' }),
      ],
      [],
    ],
  ])('requests %s, with a concurrency of 2', (_what, calls, expected) => {
    const limits = new Map([1, 2].map((incarnation) => [incarnation, { concurrency: 2 }]));
    expect(invariantsOf(checkConcurrency(calls, limits))).toEqual(expected);
  });

  it.each([
    ['as many as the bucket allows', 21, 0],
    ['more', 22, 1],
  ])('%s', (_what, count, violations) => {
    const calls = Array.from({ length: count }, (_, i) => call({ arrivedAtMs: i < 9 ? 0 : 200 }));
    // Allowed in these 200 ms: a burst of 8, 1 at the boundary, and the tokens of 200 ms and the tolerance of a second.
    const limits = new Map([[1, { concurrency: 8, qps: 10, burst: 8 }]]);
    expect(checkRate(calls, limits)).toHaveLength(violations);
  });

  it.each([
    ['that may have been sent before the response arrived', 300, 0],
    ['in the middle', 1_000, 1],
    ['after the pause', 2_100, 0],
  ])('a request %s when the API server has sent Retry-After with two seconds', (_what, arrivedAtMs, count) => {
    const throttled = call({ status: 429, retryAfterMs: 2_000, endedAtMs: 0 });
    expect(checkPauses([throttled, call({ arrivedAtMs, endedAtMs: arrivedAtMs + 1 })], [])).toHaveLength(count);
    const ofAnotherPod = call({ arrivedAtMs, endedAtMs: arrivedAtMs + 1, uid: 'b', pod: 'default/other' });
    expect(checkPauses([throttled, ofAnotherPod], [])).toEqual([]);
    const ofTheOldPod = call({ arrivedAtMs: -10, endedAtMs: -9, kind: 'patch', uid: 'a' });
    const ofTheNewPod = call({ arrivedAtMs, endedAtMs: arrivedAtMs + 1, kind: 'patch', uid: 'b' });
    expect(checkPauses([ofTheOldPod, { ...throttled, uid: undefined }, ofTheNewPod], [])).toEqual([]);
  });

  it('a request for the next pod with the name, although no write was for the one before', () => {
    const throttled = call({ kind: 'get', status: 503, retryAfterMs: 2_000, endedAtMs: 10_500, uid: undefined });
    const get = call({ kind: 'get', arrivedAtMs: 11_500, endedAtMs: 11_501, uid: undefined });
    const added = (uid: string, second: number): HistoryEvent => {
      const creationTimestamp = new Date(second * 1_000).toISOString();
      return {
        type: 'ADDED',
        resourceVersion: 1,
        pod: { metadata: { namespace: 'default', name: 'pod-0', uid, creationTimestamp } },
      };
    };
    expect(checkPauses([throttled, get], [added('a', 9), added('b', 11)])).toEqual([]);
    expect(checkPauses([throttled, get], [added('a', 11)])).toHaveLength(1);
    expect(checkPauses([throttled, get], [added('a', 2), added('b', 5)])).toHaveLength(1);
  });

  it('a storm of connections', () => {
    const arrivals = Array.from({ length: 251 }, (_, i) => i);
    expect(checkTunnel(arrivals)).toMatchObject([{ details: '251 connections in a second' }]);
    expect(checkTunnel(arrivals.map((ms) => ms * 4))).toEqual([]);
  });

  it('a run with too few faults', () => {
    const faults = { 'proxy fin': 30, kill: 1 };
    expect(checkFaults(faults, ['proxy', 'kill'], 20_000)).toEqual([]);
    expect(checkFaults(faults, ['disk full'], 20_000)).toMatchObject([{ details: 'none of kind disk full' }]);
    expect(checkFaults(faults, [], 60_000)).toMatchObject([{ details: '31 in 60 s' }]);
    expect(checkFaults({}, ['kill'], 5_000)).toEqual([]);
  });

  const unready = { type: 'Ready', status: 'False' };
  it.each<[string, Json, RegExp | undefined]>([
    ['the same', {}, undefined],
    ['foreign conditions, too', { conditions: [{ type: 'other', status: 'True' }, unready] }, undefined],
    ['another phase', { phase: 'Pending' }, /^phase: "Running" is cached, "Pending"/],
    ['another message', { message: 'm' }, /^message/],
    ['another Ready', { conditions: [{ ...unready, status: 'True' }] }, /^conditions/],
    ['another container', { containerStatuses: [{ name: 'c', state: {} }] }, /^containers/],
  ])('a pod that shows %s', (_what, shown, expected) => {
    const cached: Json = { phase: 'Running', conditions: [unready] };
    const difference = differenceTo(cached, { ...cached, ...shown });
    if (expected === undefined) expect(difference).toBeUndefined();
    else expect(difference).toMatch(expected);
  });

  it('a pod that shows only foreign conditions does not differ from a cached status without conditions', () => {
    expect(differenceTo({}, { conditions: [{ type: 'other', status: 'True' }] })).toBeUndefined();
  });
});
