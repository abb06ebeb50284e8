import { describe, expect, it } from 'vitest';
import type { Recording } from '../recording.ts';
import { compareRecordings, compareWithAny } from './compare.ts';

const status = (phase: string, more: object = {}) => ({ metadata: { name: 'a' }, status: { phase, ...more } });
const recording = (...objects: object[]): Recording => ({
  shape: 'a',
  durationMs: 1,
  pods: { a: objects.map((object) => ({ type: 'MODIFIED', atMs: 0, object })) },
  events: { a: [] },
});
const withEvents = (...messages: string[]): Recording => ({
  ...recording(),
  events: { a: messages.map((message) => ({ type: 'Normal', reason: 'R', message, involvedObject: {} })) },
});
const uid = (digit: string) => `${digit.repeat(8)}-0000-0000-0000-000000000000`;

describe('compareRecordings', () => {
  it('finds no difference in what differs only in IDs, times and repetitions', () => {
    const run = (digit: string, time: string, ...more: object[]) =>
      recording(status('Pending', { message: `pod ${uid(digit)}`, startTime: time }), ...more);
    expect(
      compareRecordings(
        run('a', '2026-01-01T00:00:00Z'),
        run(
          'b',
          '2026-01-01T00:00:05Z',
          status('Pending', { message: `pod ${uid('b')}`, startTime: '2027-01-01T00:00:00Z' }),
        ),
      ),
    ).toEqual([]);
  });

  it('tells an ID that was there before from a new one', () => {
    const ids = (first: string, second: string) =>
      recording(status('Running', { message: uid(first) }), status('Failed', { message: uid(second) }));
    expect(compareRecordings(ids('a', 'a'), ids('b', 'b'))).toEqual([]);
    expect(compareRecordings(ids('a', 'a'), ids('b', 'c'))).toMatchObject([
      { step: 2, paths: [{ path: 'status.message', kubelet: '<uid 1>', agent: '<uid 2>' }] },
    ]);
  });

  it('names the path of each field that differs, with the names of list entries', () => {
    const waiting = (reason: string) =>
      status('Pending', { containerStatuses: [{ name: 'app', state: { waiting: { reason } } }] });
    expect(compareRecordings(recording(waiting('A')), recording(waiting('B')))).toEqual([
      {
        ...{ shape: 'a', pod: 'a', in: 'statuses', step: 1, shownBy: 'both' },
        paths: [{ path: 'status.containerStatuses[app].state.waiting.reason', kubelet: 'A', agent: 'B' }],
      },
    ]);
  });

  it('names a step that only one side shows by what it changes', () => {
    const [pending, running, failed] = ['Pending', 'Running', 'Failed'].map((phase) => status(phase));
    const all = recording(pending!, running!, failed!);
    const some = recording(pending!, failed!);
    const path = { path: 'status.phase' };
    expect(compareRecordings(all, some)).toMatchObject([
      { step: 2, shownBy: 'kubelet', paths: [{ ...path, kubelet: 'Running', agent: 'Pending' }] },
    ]);
    expect(compareRecordings(some, all)).toMatchObject([
      { step: 2, shownBy: 'agent', paths: [{ ...path, kubelet: 'Pending', agent: 'Running' }] },
    ]);
  });

  it('compares the order of Events', () => {
    expect(compareRecordings(withEvents('a', 'b'), withEvents('a', 'b', 'a'))).toEqual([]);
    expect(compareRecordings(withEvents('a', 'b'), withEvents('b', 'a'))).toHaveLength(2);
  });
});

describe('compareWithAny', () => {
  it('accepts what one of the recordings of the kubelet shows', () => {
    const [one, other] = [recording(status('Pending')), recording(status('Running'))];
    expect(compareWithAny([one, other], other)).toEqual([]);
    expect(compareWithAny([one], other)).toHaveLength(1);
  });
});

describe('declared differences', () => {
  const ready = (phase: string, isReady: string) => status(phase, { conditions: [{ type: 'Ready', status: isReady }] });
  const [before, after] = [ready('Pending', 'False'), ready('Running', 'True')];

  it('an intermediate step may be missing', () => {
    const step = ready('Running', 'False');
    expect(compareRecordings(recording(before, step, after), recording(before, after))[0]?.declared).toBeDefined();
  });

  it('a step with a value of its own may not be missing', () => {
    const step = ready('Failed', 'False');
    expect(compareRecordings(recording(before, step, after), recording(before, after))).toMatchObject([{ step: 2 }]);
    expect(compareRecordings(recording(before, step, after), recording(before, after))[0]?.declared).toBeUndefined();
  });

  it('a declared difference covers only the paths it declares', () => {
    const of = (phase: string, more = {}) => recording(status(phase, more));
    const resources = { limits: { cpu: '1' } };
    expect(compareRecordings(of('Failed'), of('Failed', { resources }))[0]?.declared).toBeDefined();
    expect(compareRecordings(of('Succeeded'), of('Failed', { resources }))[0]?.declared).toBeUndefined();
  });

  it('resources are declared once the pod has ended, and the kubelet shows none', () => {
    const of = (phase: string, cpu?: string) => recording(status(phase, { resources: { limits: { cpu } } }));
    expect(compareRecordings(of('Failed'), of('Failed', '1'))[0]?.declared).toBeDefined();
    expect(compareRecordings(of('Failed', '2'), of('Failed', '1'))[0]?.declared).toBeUndefined();
    expect(compareRecordings(of('Running'), of('Running', '1'))[0]?.declared).toBeUndefined();
  });
});
