import { beforeEach, describe, expect, it } from 'vitest';
import { FailureGroups } from '../../../src/status-manager/sync/failure-groups.ts';
import { PodRecords } from '../../../src/status-manager/sync/pod-records.ts';
import { FakeClock } from '../../../src/testing/fake-clock.ts';
import { recordingLogger, type RecordingLogger } from '../../../src/testing/recording-logger.ts';

const failed = 'The API server forbids reading or updating the status of many pods: the node lacks a permission';
const recovered = 'The API server permits reading and updating pod statuses again';

let clock: FakeClock;
let logger: RecordingLogger;
let groups: FailureGroups;
let records: PodRecords;

beforeEach(() => {
  clock = new FakeClock();
  logger = recordingLogger();
  groups = new FailureGroups({ clock, logger });
  records = new PodRecords();
  records.onDropped((record) => groups.dropped(record));
});

/** Whether the pod is logged individually. */
function add(uid: string): boolean {
  const record = records.of(uid);
  const isOneOfMany = groups.isOneOfMany(record, 'Forbidden');
  groups.add(record, 'Forbidden', 'patch', `pod "${uid}" is forbidden`);
  return !isOneOfMany;
}

const messages = (): string[] => logger.lines.map(({ message }) => message);

/** Forbids four pods for so long that it is logged. */
function lackPermission(): void {
  for (const uid of ['a', 'b', 'c', 'd']) add(uid);
  clock.advance(30_000);
  add('d');
}

describe('forbidden pods', () => {
  it('are logged one by one up to three, however often each is tried', () => {
    expect(['a', 'b', 'c', 'a', 'b', 'c'].map(add)).toEqual([true, true, true, true, true, true]);
    expect(['d', 'a'].map(add)).toEqual([false, false]);
  });

  it('above three are logged together after 30 s, not before, with their number and the last reason', () => {
    for (const uid of ['a', 'b', 'c', 'd']) add(uid);
    clock.advance(29_999);
    add('d');
    expect(logger.lines).toEqual([]);
    clock.advance(1);
    add('d');
    const fields = { pods: 4, verb: 'patch', reason: 'pod "d" is forbidden', failures: 3 };
    expect(logger.lines).toMatchObject([{ level: 'warn', message: failed, fields }]);
  });

  it('are logged together once, although each reason names another pod', () => {
    lackPermission();
    for (const uid of ['a', 'b', 'c']) add(uid);
    expect(messages()).toEqual([failed]);
  });

  it('are logged as permitted again as soon as three are left', () => {
    lackPermission();
    add('e');
    groups.succeeded(records.of('a'));
    expect(messages()).toEqual([failed]);
    groups.succeeded(records.of('b'));
    expect(messages()).toEqual([failed, recovered]);
  });

  it('are not logged as permitted because of a pod that was never forbidden', () => {
    lackPermission();
    groups.succeeded(records.of('z'));
    expect(messages()).toEqual([failed]);
    expect(add('a')).toBe(false);
  });

  it('whose statuses were dropped leave without a log entry', () => {
    lackPermission();
    records.drop('a');
    groups.succeeded(records.of('b'));
    expect(messages()).toEqual([failed]);
    expect(add('b')).toBe(true);
  });

  it('that come back after a dropped one have to last 30 s again', () => {
    for (const uid of ['a', 'b', 'c', 'd']) add(uid);
    clock.advance(20_000);
    records.drop('d');
    clock.advance(10_000);
    add('e');
    expect(logger.lines).toEqual([]);
  });

  it('remain many when a pod that was never forbidden is dropped', () => {
    lackPermission();
    records.drop('z');
    groups.succeeded(records.of('a'));
    expect(messages()).toEqual([failed, recovered]);
  });

  it('remain many when one of five is dropped', () => {
    lackPermission();
    add('e');
    records.drop('e');
    groups.succeeded(records.of('a'));
    expect(messages()).toEqual([failed, recovered]);
  });

  it('are counted apart from pods that the server has never shown', () => {
    for (const uid of ['a', 'b', 'c']) add(uid);
    const other = records.of('d');
    expect(groups.isOneOfMany(other, 'NotFound')).toBe(false);
    groups.add(other, 'NotFound', 'get', 'pods "d" not found');
    expect(add('a')).toBe(true);
    // It now fails in another way.
    expect(add('d')).toBe(false);
    groups.add(records.of('a'), 'NotFound', 'get', 'pods "a" not found');
    expect(add('b')).toBe(true);
  });
});
