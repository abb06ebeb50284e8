import type * as fs from 'node:fs';
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import uniqBy from 'lodash/uniqBy.js';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { fileJournal } from '../../../src/status-manager/journal/file-journal.ts';
import { afterCrash, entry, journalFile, newDirectory, openJournal, recovered } from './journals.ts';
import { goodNews } from '../../support/log-lines.ts';

/** A disk on which all files of a directory together have `capacity` bytes, and which can be read-only. */
const disk = vi.hoisted(() => ({
  dir: '',
  capacity: Number.POSITIVE_INFINITY,
  isReadOnly: false,
  /** What one call writes at most. */
  maxWriteBytes: Number.POSITIVE_INFINITY,
  hasHardLinks: true,
  /** The error of opening a file. */
  openError: undefined as string | undefined,
  /** No line can be marked live again. */
  isMarkFailing: false,
  /** Where was written, in order. */
  positions: [] as number[],
}));
vi.mock('node:fs', async (importOriginal) => {
  const original = await importOriginal<typeof fs>();
  // A second name of a file takes no space.
  const used = (): number => {
    const stats = original.readdirSync(disk.dir).map((name) => original.lstatSync(path.join(disk.dir, name)));
    return uniqBy(stats, 'ino').reduce((sum, { size }) => sum + size, 0);
  };
  const failure = (code: string, message: string): Error => Object.assign(new Error(message), { code });
  return {
    ...original,
    openSync: (file: string, flags: number, mode: number): number => {
      if (disk.isReadOnly && file.startsWith(disk.dir)) throw failure('EROFS', 'read-only file system');
      if (disk.openError !== undefined && file.startsWith(disk.dir)) throw failure(disk.openError, 'cannot be opened');
      return original.openSync(file, flags, mode);
    },
    linkSync: (from: string, to: string): void => {
      if (!disk.hasHardLinks) throw failure('EPERM', 'operation not permitted');
      original.linkSync(from, to);
    },
    writeSync: (fd: number, bytes: Buffer, offset: number, length: number, position: number): number => {
      if (disk.isReadOnly) throw failure('EROFS', 'read-only file system');
      // Space inside the file is already allocated.
      const free = original.fstatSync(fd).size - position + disk.capacity - used();
      if (free <= 0) throw failure('ENOSPC', 'no space left on device');
      if (disk.isMarkFailing && bytes.equals(Buffer.from('live'))) throw failure('EIO', 'input/output error');
      disk.positions.push(position);
      return original.writeSync(fd, bytes, offset, Math.min(length, free, disk.maxWriteBytes), position);
    },
  };
});

const file = (): string => journalFile(disk.dir);

beforeEach(() => {
  disk.dir = newDirectory();
  disk.capacity = Number.POSITIVE_INFINITY;
  disk.isReadOnly = false;
  disk.maxWriteBytes = Number.POSITIVE_INFINITY;
  disk.hasHardLinks = true;
  disk.openError = undefined;
  disk.isMarkFailing = false;
});

function fill(): void {
  disk.capacity = statSync(file()).size;
}

async function crash(): ReturnType<typeof afterCrash> {
  disk.capacity = Number.POSITIVE_INFINITY;
  disk.isReadOnly = false;
  return afterCrash(disk.dir);
}

describe('a journal on a full disk', () => {
  it('opens with the statuses that it holds, and does not change the file', async () => {
    const first = await openJournal(disk.dir);
    for (const uid of ['a', 'b', 'c']) first.journal.accepted(entry(uid, `${uid}1`));
    await first.journal.close();
    fill();
    const content = readFileSync(file(), 'utf8');
    const next = await openJournal(disk.dir);
    expect(recovered(next)).toEqual(['a a1', 'b b1', 'c c1']);
    expect(next.logger.lines).toEqual([]);
    expect(readFileSync(file(), 'utf8')).toBe(content);
  });

  it('loses only the statuses that do not fit', async () => {
    const { journal, logger } = await openJournal(disk.dir);
    for (let i = 0; i < 20; i++) journal.accepted(entry(`pod-${i}`, 'x'.repeat(1_000)));
    fill();
    journal.accepted(entry('pod-3', 'y'.repeat(5_000)));
    journal.accepted(entry('new', 'z'.repeat(5_000)));
    expect(logger.errors).toMatchObject([
      {
        message: 'Statuses cannot be recorded in the journal and would be lost in a crash',
        fields: { reason: 'no space left on device', unrecorded: 1, pods: ['default/pod-3'] },
      },
    ]);
    const next = await crash();
    expect(next.journal.recovered.map(({ podUID }) => podUID)).toEqual(
      Array.from({ length: 20 }, (_, i) => `pod-${i}`).filter((uid) => uid !== 'pod-3'),
    );
    expect(next.logger.lines).toEqual([]);
  });

  it('uses the space of statuses that are settled or replaced', async () => {
    const { journal, logger } = await openJournal(disk.dir);
    journal.accepted(entry('a', 'a1'));
    journal.accepted(entry('b', 'b1'));
    journal.accepted(entry('c', 'c1, which is longer'));
    journal.settled('c');
    fill();
    journal.accepted(entry('a', 'a2'));
    journal.accepted(entry('a', 'a3'));
    journal.accepted(entry('d', 'd1'));
    expect(logger.errors).toEqual([]);
    expect(recovered(await crash()).toSorted()).toEqual(['a a3', 'b b1', 'd d1']);
  });

  it('does not mark an older status past before its replacement is in the file, so that a power loss leaves one of them', async () => {
    const { journal } = await openJournal(disk.dir);
    journal.accepted(entry('a', 'a1'));
    const offset = statSync(file()).size;
    journal.accepted(entry('b', 'b1'));
    journal.settled('b');
    fill();
    disk.positions = [];
    journal.accepted(entry('a', 'a2'));
    expect(disk.positions).toEqual([offset + 'live'.length, offset]);
  });

  it('does not have an old status again when a power loss leaves only the mark of the line that overwrote it', async () => {
    const { journal } = await openJournal(disk.dir);
    journal.accepted(entry('a', 'a1'));
    journal.settled('a');
    fill();
    const before = readFileSync(file());
    journal.accepted(entry('a', 'a2'));
    expect(recovered(await crash())).toEqual(['a a2']);
    const after = readFileSync(file());
    writeFileSync(file(), Buffer.concat([after.subarray(0, 'live'.length), before.subarray('live'.length)]));
    const next = await crash();
    expect(recovered(next)).toEqual([]);
    expect(next.logger.errors).toEqual([]);
  });

  it('uses the space of an older status for a slightly longer one', async () => {
    const { journal, logger } = await openJournal(disk.dir);
    for (let i = 0; i < 20; i++) journal.accepted(entry(`pod-${i}`, `${i}`));
    fill();
    for (let i = 0; i < 20; i++) journal.accepted(entry(`pod-${i}`, `${i * 1_000_000}`));
    expect(logger.errors).toEqual([]);
    expect(recovered(await crash()).toSorted()).toEqual(
      Array.from({ length: 20 }, (_, i) => `pod-${i} ${i * 1_000_000}`).toSorted(),
    );
  });

  it('records what did not fit when there is space again, and logs it', async () => {
    const { journal, logger, clock } = await openJournal(disk.dir);
    journal.accepted(entry('a', 'a1'));
    disk.capacity = 0;
    journal.accepted(entry('a', 'a2 is longer'));
    journal.accepted(entry('b', 'b1'));
    clock.advance(1_000);
    expect(goodNews(logger)).toEqual([]);
    disk.capacity = Number.POSITIVE_INFINITY;
    clock.advance(1_000);
    expect(goodNews(logger)).toMatchObject([
      { message: 'A journal file operation succeeded again', fields: { action: 'mark' } },
      { message: 'The journal can be written again; all unsent statuses are recorded', fields: { outageMs: 2_000 } },
    ]);
    expect(recovered(await crash())).toEqual(['a a2 is longer', 'b b1']);
    await journal.close();
    expect(clock.pendingTimers).toBe(0);
  });

  it('is reported until a status has been recorded, also when every status was sent at once', async () => {
    const { journal, logger, clock } = await openJournal(disk.dir);
    disk.capacity = 0;
    for (const uid of ['a', 'b']) {
      journal.accepted(entry(uid));
      journal.settled(uid);
      clock.advance(2_000);
    }
    expect(journal.failure?.()).toMatchObject({ reason: 'no space left on device' });
    expect([logger.errors.length, goodNews(logger)]).toEqual([1, []]);
    disk.capacity = Number.POSITIVE_INFINITY;
    journal.accepted(entry('c'));
    expect(journal.failure?.()).toBeUndefined();
    expect(goodNews(logger)).toMatchObject([
      { message: 'The journal can be written again; all unsent statuses are recorded', fields: { outageMs: 4_000 } },
    ]);
  });

  it('is logged once, and every 10 minutes while it lasts, not for each status', async () => {
    const { journal, logger, clock } = await openJournal(disk.dir);
    disk.capacity = 0;
    for (let i = 0; i < 20; i++) journal.accepted(entry(`pod-${i}`));
    expect(logger.errors).toHaveLength(1);
    clock.advance(599_000);
    expect(logger.errors).toHaveLength(1);
    clock.advance(1_000);
    expect(logger.errors).toHaveLength(2);
    expect(logger.errors[1]).toMatchObject({ fields: { unrecorded: 20 } });
    expect(logger.errors[1]!.fields.pods).toHaveLength(10);
  });

  it('logs the unrecorded statuses on close, and why they are not recorded', async () => {
    const { journal, logger } = await openJournal(disk.dir);
    disk.capacity = 0;
    journal.accepted(entry('a'));
    await journal.close();
    const reason = 'the journal is closed: no space left on device';
    expect(logger.errors.at(-1)).toMatchObject({ fields: { reason, pods: ['default/a'] } });
  });

  it('starts without a file when none can be created, so that the agent can run', async () => {
    disk.capacity = 0;
    const { journal, logger } = await openJournal(disk.dir);
    journal.accepted(entry('a'));
    expect(logger.errors).toHaveLength(1);
  });

  it.each(['ENOSPC', 'EDQUOT'])('starts when its file cannot be created for want of space (%s)', async (code) => {
    disk.openError = code;
    const { journal, logger } = await openJournal(disk.dir);
    expect(journal.recovered).toEqual([]);
    expect(logger.errors[0]).toMatchObject({ fields: { reason: 'cannot be opened' } });
    disk.openError = undefined;
  });

  it('skips a damaged line also when the file cannot be replaced', async () => {
    const first = await openJournal(disk.dir);
    for (const uid of ['a', 'b', 'c']) first.journal.accepted(entry(uid));
    await first.journal.close();
    const { writeFileSync } = await vi.importActual<typeof fs>('node:fs');
    writeFileSync(file(), readFileSync(file(), 'utf8').replace('"b"', '"B"'));
    fill();
    const next = await openJournal(disk.dir);
    expect(recovered(next)).toEqual(['a', 'c']);
    next.journal.settled('a');
    expect(recovered(await crash())).toEqual(['c']);
  });
});

describe('a journal on a read-only disk', () => {
  it('opens with the statuses that it holds, and logs that it records nothing', async () => {
    const first = await openJournal(disk.dir);
    for (const uid of ['a', 'b']) first.journal.accepted(entry(uid));
    await first.journal.close();
    disk.isReadOnly = true;
    const { journal, logger } = await openJournal(disk.dir);
    expect(recovered({ journal })).toEqual(['a', 'b']);
    expect(logger.errors[0]).toMatchObject({
      message: 'The journal can only be read; statuses accepted from now on would be lost in a crash',
      fields: { reason: 'read-only file system' },
    });
    journal.settled('a');
    expect(() => journal.accepted(entry('c'))).not.toThrow();
    const reason = 'no journal file is writable';
    expect(logger.errors.at(-1)).toMatchObject({ fields: { reason, pods: ['default/c'] } });
  });

  it('is written again when the disk can be', async () => {
    const first = await openJournal(disk.dir);
    for (const uid of ['a', 'b']) first.journal.accepted(entry(uid));
    await first.journal.close();
    disk.isReadOnly = true;
    const { journal, clock } = await openJournal(disk.dir);
    journal.settled('a');
    journal.accepted(entry('c'));
    disk.isReadOnly = false;
    clock.advance(61_000);
    expect(recovered(await crash())).toEqual(['b', 'c']);
  });

  it('without a file cannot be used', async () => {
    disk.isReadOnly = true;
    await expect(fileJournal(disk.dir)).rejects.toMatchObject({ code: 'JOURNAL_UNUSABLE' });
  });

  it('marks replaced statuses past when it can be written again', async () => {
    const { journal, clock, logger } = await openJournal(disk.dir);
    journal.accepted(entry('a', 'a1'));
    disk.isReadOnly = true;
    journal.accepted(entry('a', 'a2'));
    expect(logger.errors.map(({ fields }) => fields.reason)).toContain('read-only file system');
    expect(logger.errors.map(({ fields }) => fields.action)).toContain('mark');
    journal.settled('a');
    disk.isReadOnly = false;
    clock.advance(1_000);
    expect(recovered(await crash())).toEqual([]);
  });
});

it('keeps the old file when no new one can be created', async () => {
  const temporary = path.join(disk.dir, '.pod-status.journal.tmp');
  mkdirSync(path.join(temporary, 'x'), { recursive: true });
  const { journal } = await openJournal(disk.dir);
  journal.accepted(entry('a', 'a1'));
  rmSync(temporary, { recursive: true });
  expect(recovered(await crash())).toEqual(['a a1']);
});

it('a status is complete also when the system takes only some of its bytes at a time', async () => {
  const { journal } = await openJournal(disk.dir);
  disk.maxWriteBytes = 10;
  journal.accepted(entry('a', 'a1'));
  journal.accepted(entry('b', 'b1'));
  const next = await crash();
  expect(recovered(next)).toEqual(['a a1', 'b b1']);
  expect(next.logger.lines).toEqual([]);
});

it('a damaged file is kept as a copy where the file system has no hard links', async () => {
  const first = await openJournal(disk.dir);
  for (const uid of ['a', 'b']) first.journal.accepted(entry(uid));
  await first.journal.close();
  const { writeFileSync } = await vi.importActual<typeof fs>('node:fs');
  const damaged = readFileSync(file(), 'utf8').replace('"b"', '"B"');
  writeFileSync(file(), damaged);
  disk.hasHardLinks = false;
  const { journal, logger } = await openJournal(disk.dir);
  expect(recovered({ journal })).toEqual(['a']);
  expect(readFileSync(`${file()}.damaged`, 'utf8')).toBe(damaged);
  expect(logger.errors).toHaveLength(1);
});

it('logs that a damaged file cannot be kept, and recovers its other lines', async () => {
  const first = await openJournal(disk.dir);
  for (const uid of ['a', 'b']) first.journal.accepted(entry(uid));
  await first.journal.close();
  const { writeFileSync } = await vi.importActual<typeof fs>('node:fs');
  writeFileSync(file(), readFileSync(file(), 'utf8').replace('"b"', '"B"'));
  mkdirSync(path.join(`${file()}.damaged`, 'x'), { recursive: true });
  const inode = statSync(file()).ino;
  const { journal, logger } = await openJournal(disk.dir);
  expect(recovered({ journal })).toEqual(['a']);
  expect(logger.errors.at(-1)).toMatchObject({ fields: { action: 'keep the damaged file' } });
  // The only copy of what is damaged stays.
  expect(statSync(file()).ino).toBe(inode);
});

it('a line whose overwriting fails before its mark is past, without a checksum', async () => {
  const { journal } = await openJournal(disk.dir);
  journal.accepted(entry('a'));
  journal.settled('a');
  fill();
  disk.isMarkFailing = true;
  journal.accepted(entry('b'));
  expect(readFileSync(file(), 'utf8')).toMatch(/^past -{8} .*"podUID":"b"/);
  expect(recovered(await crash())).toEqual([]);
});

it('logs that a free line cannot be overwritten', async () => {
  const { journal, logger } = await openJournal(disk.dir);
  for (const uid of ['a', 'b']) journal.accepted(entry(uid));
  journal.settled('a');
  journal.accepted(entry('b', 'new'));
  journal.settled('b');
  disk.isReadOnly = true;
  journal.accepted(entry('c'));
  expect(logger.errors.map(({ fields }) => fields.action)).toContain('overwrite');
});
