import { describe, expect, it } from 'vitest';
import type { NodeRow, PodRow, StatusDocument } from '../../../src/observe/statusz/status-document.ts';

/** The words of the page, which is plain JavaScript. */
const { age, nodesSummary, nodeState, problemsOf, shortError, waitText } = (await import(
  new URL('../../../src/observe/statusz/client/words.js', import.meta.url).href
)) as {
  age(time: string, nowMs: number, before?: string, after?: string): string;
  nodesSummary(nodes: readonly NodeRow[]): string;
  nodeState(node: NodeRow): string;
  problemsOf(status: StatusDocument, nowMs: number): string[];
  shortError(error: string): string;
  waitText(pod: object, nowMs: number): string;
};

const { select } = (await import(
  new URL('../../../src/observe/statusz/client/selection.js', import.meta.url).href
)) as {
  select(pods: readonly PodRow[], choice: object): { readonly rows: readonly PodRow[] };
};

const nowMs = Date.parse('2026-11-22T12:00:00Z');
const healthy: StatusDocument = { refreshIntervalMs: 1_000, state: 'running', problems: [], pods: [] };
const failure = { failingSince: '2026-11-22T11:59:00Z', reason: 'ECONNREFUSED' };

const waiting = { kind: 'back-off', since: '2026-11-22T11:59:00Z' } as const;
const refused = (podName: string, unsentSince: string): PodRow => ({
  ...{ podUID: podName, podNamespace: 'default', podName, unsentSince },
  lastError: `403 Forbidden: pods "${podName}" is forbidden`,
  waitingFor: { ...waiting, verb: 'patch', class: 'Forbidden', statusCode: 403 },
});
const inFlight: PodRow = { ...refused('c', '2026-11-22T11:59:00Z'), waitingFor: { ...waiting, kind: 'response' } };

it('virtual nodes are summed up, with those of other processes and those that no process has', () => {
  const nodes: NodeRow[] = [
    { nodeName: 'cloud-a', state: 'running', owner: 'a-1', pods: 20, failingPods: 2, problem: 'no quota' },
    { nodeName: 'cloud-b', state: 'notOwned', owner: 'b-1', pods: 0, failingPods: 0 },
    { nodeName: 'cloud-c', state: 'notOwned', pods: 0, failingPods: 0 },
  ];
  expect(nodesSummary(nodes)).toBe('3 virtual nodes: 1 running in this process, 1 with a problem');
  expect(nodes.map(nodeState)).toEqual(['running', 'in another process', 'not owned']);
});

it('of pods with nothing unsent, those whose calls fail come first', () => {
  const healthyPod: PodRow = { podUID: 'a', podNamespace: 'default', podName: 'a' };
  const failing: PodRow = { ...healthyPod, podUID: 'b', podName: 'b', lastError: 'no quota' };
  const choice = { show: 'all', filter: '', sort: 'unsent', isDescending: true, page: 0 };
  expect(select([healthyPod, failing], choice).rows).toEqual([failing, healthyPod]);
});

it('the pods of one node are selected by its whole name', () => {
  const pods = ['cloud-1', 'cloud-10'].map((nodeName) => ({ ...refused(`on-${nodeName}`, ''), nodeName }));
  const choice = { show: 'all', sort: 'pod', isDescending: false, page: 0 };
  expect(select(pods, { ...choice, filter: 'node:cloud-1;' }).rows).toEqual([pods[0]]);
});

it.each([
  [0, 'just now'],
  [1_999, 'just now'],
  [2_000, 'for 2s'],
  [61_000, 'for 61s'],
])('an age of %i ms is %s, as in explain()', (ms, text) => {
  expect(age(new Date(nowMs - ms).toISOString(), nowMs, 'for ')).toBe(text);
});

it('an error is shortened so that its reason, its object and its verb stay', () => {
  const forbidden =
    '403 Forbidden: pods "web" is forbidden: User "system:serviceaccount:kube-system:node-agent" cannot patch resource "pods/status" in API group "" in the namespace "default"';
  const short = shortError(forbidden);
  for (const part of ['403 Forbidden', 'pods "web" is forbidden', 'cannot patch resource "pods/status"'])
    expect(short).toContain(part);
  expect(short.length).toBeLessThan(150);
  expect(shortError('404 NotFound')).toBe('404 NotFound');
});

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
      ['The informer has not listed the pods yet; it has failed since 11:59:00Z: ECONNREFUSED.'],
    ],
    [
      'an informer whose watch has broken',
      { informer: { isSynced: true, lastEventAt: '2026-11-22T11:59:00Z', restarts: 1, failure } },
      ['The informer does not see changes of pods; it has failed since 11:59:00Z: ECONNREFUSED.'],
    ],
    [
      'an API server that refuses every write',
      { pods: [refused('a', '2026-11-22T11:58:00Z'), refused('b', '2026-11-22T11:57:00Z'), inFlight] },
      [
        'The API server refuses every write of a status with 403; the oldest is unsent since 11:57:00Z (403 Forbidden: pods "a" is forbidden).',
      ],
    ],
    [
      'an API server that refuses one write, while another waits for its turn',
      { pods: [refused('a', '2026-11-22T11:58:00Z'), { ...inFlight, waitingFor: { ...waiting, kind: 'turn' } }] },
      [],
    ],
    [
      'a manager that was not started',
      { state: 'created' },
      ['The status manager has not been started: no status is written until start() is called.'],
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

  it('has since when calls of a provider fail', () => {
    const waitingFor = { kind: 'provider', since: '2026-11-22T11:56:00Z' };
    expect(waitText({ waitingFor }, nowMs)).toBe('next try of the provider, failing for 4m');
  });
});
