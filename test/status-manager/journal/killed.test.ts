import type * as fs from 'node:fs';
import { writeFileSync } from 'node:fs';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { FsyncPolicy } from '../../../src/status-manager/journal/journal-recorder.ts';
import { entry, journalFile, newDirectory, openJournal, recovered } from './journals.ts';

/**
 * A disk of `capacity` bytes a file that writes half of what it is given, and keeps what is in the file
 * then. Only a mark is written in one piece: it never crosses the end of a sector, because lines are
 * multiples of 128 bytes.
 */
const disk = vi.hoisted(() => ({ file: '', capacity: Number.POSITIVE_INFINITY, contents: [] as Buffer[] }));
vi.mock('node:fs', async (importOriginal) => {
  const original = await importOriginal<typeof fs>();
  return {
    ...original,
    writeSync: (fd: number, bytes: Buffer, offset: number, length: number, position: number): number => {
      if (position + length > disk.capacity)
        throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
      const written = original.writeSync(fd, bytes, offset, length === 4 ? 4 : Math.ceil(length / 2), position);
      disk.contents.push(original.readFileSync(disk.file));
      return written;
    },
  };
});

let dir: string;
beforeEach(() => {
  dir = newDirectory();
  disk.file = journalFile(dir);
  disk.capacity = Number.POSITIVE_INFINITY;
});

/** What the next run recovers, and the errors that it logs, when the process is killed within any write of `write`. */
async function whenKilledDuring(write: () => void): Promise<string[]> {
  disk.contents = [];
  write();
  const outcomes = new Set<string>();
  for (const content of disk.contents.splice(0)) {
    const copy = newDirectory();
    writeFileSync(journalFile(copy), content);
    const next = await openJournal(copy);
    outcomes.add([...recovered(next).toSorted(), ...next.logger.errors.map(({ message }) => message)].join(', '));
  }
  return [...outcomes];
}

describe('a process that is killed while it writes', () => {
  it.each<FsyncPolicy>(['always', 'interval', 'never'])(
    'leaves the older status of the pod or the newer one, with fsync %s',
    async (fsync) => {
      const { journal, clock } = await openJournal(dir, { fsync });
      journal.accepted(entry('a', 'a1'));
      journal.accepted(entry('b', 'b1'));
      expect(
        await whenKilledDuring(() => {
          journal.accepted(entry('a', 'a2'));
          clock.advance(1_000);
        }),
      ).toEqual(['a a1, b b1', 'a a2, b b1']);
    },
  );

  it('leaves no damaged line where a line of a full disk is used again', async () => {
    const { journal, logger } = await openJournal(dir, { fsync: 'never' });
    for (const uid of ['a', 'b', 'c']) journal.accepted(entry(uid));
    disk.capacity = disk.contents.at(-1)!.length;
    journal.settled('b');
    expect(await whenKilledDuring(() => journal.accepted(entry('d')))).toEqual(['a, c', 'a, c, d']);
    expect(logger.errors).toEqual([]);
  });
});
