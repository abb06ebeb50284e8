import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemDisk } from '../../../src/shared/disk.ts';
import { Compaction, dueCompaction } from '../../../src/status-manager/journal/compaction.ts';
import { decodeJournal, type Slot } from '../../../src/status-manager/journal/journal-lines.ts';
import type { LiveEntry } from '../../../src/status-manager/journal/live-entries.ts';
import { entry, journalFile, newDirectory } from './journals.ts';

const kib = 1024;
const mib = 1024 * kib;

describe('a compaction', () => {
  it.each([
    [
      'before the file exceeds its limit, if the live lines fit',
      { file: 900, live: 800, added: 200, max: 1_000 },
      'now',
    ],
    ['not while what is added reaches the limit', { file: 800, live: 800, added: 200, max: 1_000 }, undefined],
    ['not when the live lines do not fit either', { file: 900, live: 801, added: 200, max: 1_000 }, undefined],
    ['when the file is more than four times its live lines', { file: 2 * mib, live: 200 * kib }, 'now'],
    ['not when it is four times its live lines', { file: 2 * mib, live: 512 * kib }, undefined],
    ['not when the file is small', { file: mib, live: 0 }, undefined],
    ['as soon as the file is not small', { file: mib + 1, live: 0 }, 'now'],
    ['at once up to 256 KiB of live lines', { file: 2 * mib, live: 256 * kib }, 'now'],
    ['in slices above 256 KiB of live lines', { file: 2 * mib, live: 256 * kib + 1 }, 'in-slices'],
  ])('is due %s', (_when, sizes, due) => {
    expect(dueCompaction({ added: 0, max: 64 * mib, ...sizes })).toBe(due);
  });
});

interface Filled {
  readonly compaction: Compaction;
  readonly live: Map<string, LiveEntry>;
  readonly file: string;
}

/** A compaction of `recorded` and `unrecorded` pods. */
function compactionOf(recorded: readonly string[], unrecorded: readonly string[], maxBytes = mib): Filled {
  const file = journalFile(newDirectory());
  const live = new Map<string, LiveEntry>();
  for (const uid of unrecorded) live.set(uid, { entry: entry(uid), slot: undefined });
  for (const uid of recorded) live.set(uid, { entry: entry(uid), slot: { offset: 0, bytes: 256 } });
  let sequence = 1;
  return { compaction: new Compaction({ disk: systemDisk, file, maxBytes }, live, () => sequence++), live, file };
}

/** The pods in the new file, and what it says of them. */
async function finish({ compaction, file }: Filled): Promise<{ pods: string[]; copies: string[]; past: Slot[] }> {
  compaction.copy();
  const { file: opened, copies, past } = compaction.finish();
  await opened.close();
  const pods = [...decodeJournal(readFileSync(file)).live.keys()];
  return { pods, copies: Array.from(copies, ({ entry: { podUID } }) => podUID), past };
}

const names = (count: number): string[] => Array.from({ length: count }, (_, i) => `pod-${i}`);

describe('the new file', () => {
  it('has the recorded statuses first, then those of the others that fit', async () => {
    const filled = compactionOf(['c', 'd'], ['a', 'b'], 3 * 256);
    expect(await finish(filled)).toEqual({ pods: ['c', 'd', 'a'], copies: ['c', 'd', 'a'], past: [] });
  });

  it('has all recorded statuses, even beyond the limit', async () => {
    const filled = compactionOf(['a', 'b'], ['c'], 256);
    expect((await finish(filled)).pods).toEqual(['a', 'b']);
  });

  it('has the newer status of a pod that changed meanwhile, none of a pod that was settled, and says where the old ones are', async () => {
    const filled = compactionOf(['a', 'b', 'c'], []);
    const { compaction, live } = filled;
    compaction.copy();
    live.set('a', { entry: entry('a', 'new'), slot: { offset: 0, bytes: 256 } });
    live.delete('b');
    compaction.changed('a');
    compaction.changed('b');
    const past = [
      { offset: 0, bytes: 256 },
      { offset: 256, bytes: 256 },
    ];
    expect(await finish(filled)).toEqual({ pods: ['c', 'a'], copies: ['c', 'a'], past });
  });
});

describe('a compaction that is given up', () => {
  it('closes its file also if it cannot be removed', async () => {
    const { compaction, file } = compactionOf(['a'], []);
    const temporary = join(dirname(file), `.${basename(file)}.tmp`);
    rmSync(temporary);
    mkdirSync(temporary);
    await expect(compaction.discard()).rejects.toThrow(temporary);
    expect(() => compaction.copy()).toThrow('EBADF');
  });
});

describe('a compaction in slices', () => {
  /** How many turns of the event loop it takes. */
  async function turnsOf({ compaction }: Filled, during: (turn: number) => boolean = () => false) {
    let turns = 0;
    let isOutdated = false;
    const clock = {
      yieldToEventLoop: () => {
        isOutdated = during(++turns);
        return Promise.resolve();
      },
    };
    await compaction.copyInSlices(clock, false, () => isOutdated);
    return turns;
  }

  it.each([
    [64, 0],
    [65, 2],
    [128, 2],
    [129, 3],
  ])('copies 64 statuses in one turn of the event loop, the last 64 at once (%i)', async (count, turns) => {
    const filled = compactionOf(names(count), []);
    expect(await turnsOf(filled)).toBe(turns);
    expect((await finish(filled)).pods).toHaveLength(count);
  });

  it('ends after three passes, however much changes in the meantime', async () => {
    const filled = compactionOf(names(128), []);
    const changeAll = (): boolean => {
      for (const uid of names(128)) filled.compaction.changed(uid);
      return false;
    };
    expect(await turnsOf(filled, changeAll)).toBe(6);
    expect((await finish(filled)).pods).toHaveLength(128);
  });

  it('ends as soon as its result is no longer needed', async () => {
    const filled = compactionOf(names(256), []);
    expect(await turnsOf(filled, (turn) => turn === 2)).toBe(2);
    await filled.compaction.discard();
  });
});
