import { beforeEach, expect, it } from 'vitest';
import { LiveEntries } from '../../../src/status-manager/journal/live-entries.ts';
import { entry } from './journals.ts';

const slot = (offset: number, bytes = 128) => ({ offset, bytes });

let live: LiveEntries;
beforeEach(() => {
  live = new LiveEntries();
});

it('returns where the previous entry of the pod is, and counts the bytes of the newest ones only', () => {
  expect(live.set(entry('a'), slot(0))).toBeUndefined();
  live.set(entry('b'), slot(128));
  expect(live.recordedBytes).toBe(256);
  expect(live.set(entry('a', 'new'), slot(256, 384))).toEqual(slot(0));
  expect(live.recordedBytes).toBe(512);
  expect(live.delete('a')).toEqual(slot(256, 384));
  expect(live.delete('a')).toBeUndefined();
  expect(live.recordedBytes).toBe(128);
  expect([...live.byPodUID.keys()]).toEqual(['b']);
});

it('knows the entries that are not recorded, until they are recorded, replaced or deleted', () => {
  for (const uid of ['a', 'b', 'c']) live.set(entry(uid), undefined);
  expect([...live.unrecorded()]).toEqual([entry('a'), entry('b'), entry('c')]);
  expect([live.unrecordedCount, live.recordedBytes]).toEqual([3, 0]);
  live.set(entry('a'), slot(0));
  live.delete('b');
  expect([live.isUnrecorded('a'), live.isUnrecorded('b'), live.isUnrecorded('c')]).toEqual([false, false, true]);
  expect(live.unrecordedCount).toBe(1);
});

it('has the positions in the new file after it was replaced; what it does not hold stays unrecorded', () => {
  live.set(entry('a'), slot(1_000));
  live.set(entry('b'), undefined);
  live.set(entry('c'), undefined);
  live.fileReplaced([
    { entry: entry('a'), slot: slot(0) },
    { entry: entry('b'), slot: slot(128, 256) },
  ]);
  expect(live.recordedBytes).toBe(384);
  expect([...live.unrecorded()]).toEqual([entry('c')]);
  expect(live.byPodUID.get('b')).toEqual({ entry: entry('b'), slot: slot(128, 256) });
});
