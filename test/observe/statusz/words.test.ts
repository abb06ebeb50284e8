import { describe, expect, it } from 'vitest';
import type { StatusDocument } from '../../../src/observe/statusz/status-document.ts';

/** The words of the page, which is plain JavaScript. */
const { problemsOf, waitText } = (await import(
  new URL('../../../src/observe/statusz/client/words.js', import.meta.url).href
)) as {
  problemsOf(status: StatusDocument, nowMs: number): string[];
  waitText(pod: object, nowMs: number): string;
};

const nowMs = Date.parse('2026-11-22T12:00:00Z');
const healthy: StatusDocument = { refreshIntervalMs: 1_000, state: 'running', problems: [], pods: [] };
const failure = { failingSince: '2026-11-22T11:59:00Z', reason: 'ECONNREFUSED' };

describe('the problems of the page', () => {
  it.each<[string, Partial<StatusDocument>, string[]]>([
    ['a healthy manager', { informer: { isSynced: true, lastEventAt: undefined, restarts: 1 } }, []],
    [
      'an informer that has not listed the pods',
      { informer: { isSynced: false, lastEventAt: undefined, restarts: 0 } },
      ['The informer has not listed the pods yet.'],
    ],
    [
      'an informer that cannot list the pods',
      { informer: { isSynced: false, lastEventAt: undefined, restarts: 1, failure } },
      ['The informer has not listed the pods yet; it fails since 11:59:00Z: ECONNREFUSED.'],
    ],
    [
      'an informer whose watch has broken',
      { informer: { isSynced: true, lastEventAt: '2026-11-22T11:59:00Z', restarts: 1, failure } },
      ['The informer does not see changes of pods; it fails since 11:59:00Z: ECONNREFUSED.'],
    ],
  ])('of %s', (_what, status, problems) => {
    expect(problemsOf({ ...healthy, ...status }, nowMs)).toEqual(problems);
  });
});

describe('what a pod waits for', () => {
  const waitingFor = { kind: 'back-off', verb: 'get', class: 'InternalError', statusCode: 500, tries: 1 };
  const textWith = (nextTryAt: string): string => waitText({ waitingFor, nextTryAt }, nowMs);

  it('has the time to the next try, until that is less than a second', () => {
    expect(textWith('2026-11-22T12:00:05Z')).toMatch(/, next try in 5s$/);
    expect(textWith('2026-11-22T12:00:00Z')).toMatch(/, next try due$/);
  });
});
