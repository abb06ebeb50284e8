import type * as fs from 'node:fs';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { fileJournal } from '../../src/journal/file-journal.ts';
import type { JournalEntry } from '../../src/journal/journal.ts';
import { FakeClock } from '../../src/testing/fake-clock.ts';
import { recordingLogger } from '../support/recording-logger.ts';

/** A disk on which all files of a directory together have `capacity` bytes. */
const disk = vi.hoisted(() => ({ dir: '', capacity: Number.POSITIVE_INFINITY }));
vi.mock('node:fs', async (importOriginal) => {
  const original = await importOriginal<typeof fs>();
  const used = (): number =>
    original.readdirSync(disk.dir).reduce((sum, name) => sum + original.statSync(path.join(disk.dir, name)).size, 0);
  return {
    ...original,
    writeSync: (fd: number, bytes: Buffer, offset: number): number => {
      const room = Math.min(bytes.length - offset, disk.capacity - used());
      if (room <= 0) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
      return original.writeSync(fd, bytes, offset, room);
    },
  };
});

const file = (): string => path.join(disk.dir, 'pod-status.journal');

beforeEach(() => {
  disk.dir = mkdtempSync(path.join(tmpdir(), 'journal-'));
  disk.capacity = Number.POSITIVE_INFINITY;
});
afterEach(() => rmSync(disk.dir, { recursive: true }));

function entry(podUID: string, message: string): JournalEntry {
  const acceptedAt = '2000-01-01T00:00:00Z';
  const status = { phase: 'Running', message };
  return { podUID, podNamespace: 'default', podName: podUID, podIsFinished: false, acceptedAt, status };
}

async function open() {
  const clock = new FakeClock();
  const logger = recordingLogger();
  return { journal: await fileJournal(disk.dir, { logger, clock }), clock, logger };
}

async function afterCrash(): Promise<string[]> {
  disk.capacity = Number.POSITIVE_INFINITY;
  const { journal } = await open();
  const messages = journal.recovered.map(({ status }) => status.message!);
  await journal.close();
  return messages;
}

describe('a journal on a full disk', () => {
  it('keeps the newest statuses where it was itself', async () => {
    const { journal, logger } = await open();
    journal.accepted(entry('a', 'a1'));
    journal.accepted(entry('b', 'b1'));
    disk.capacity = statSync(file()).size;
    journal.accepted(entry('a', 'a2'));
    journal.accepted(entry('a', 'a3'));
    expect(logger.errors).toMatchObject([{ fields: { action: 'write', reason: 'no space left on device' } }]);
    expect(await afterCrash()).toEqual(['b1', 'a3']);
    await journal.close();
  });

  it('that has no room at all keeps nothing until there is some: an older status must not follow a newer one', async () => {
    const { journal, clock } = await open();
    journal.accepted(entry('a', 'a1'));
    disk.capacity = 0;
    journal.accepted(entry('a', 'a2'));
    expect(statSync(file()).size).toBe(0);
    journal.accepted(entry('b', 'b1'));
    clock.advance(1_000);
    expect(statSync(file()).size).toBe(0);
    disk.capacity = Number.POSITIVE_INFINITY;
    clock.advance(1_000);
    expect(await afterCrash()).toEqual(['a2', 'b1']);
    await journal.close();
    expect(clock.pendingTimers).toBe(0);
  });

  it('comes back where it was itself, too, when no new file can be made', async () => {
    const { journal, clock } = await open();
    const temporary = path.join(disk.dir, '.pod-status.journal.tmp');
    mkdirSync(path.join(temporary, 'x'), { recursive: true });
    disk.capacity = 0;
    journal.accepted(entry('a', 'a1'));
    disk.capacity = Number.POSITIVE_INFINITY;
    clock.advance(1_000);
    expect(clock.pendingTimers).toBe(0);
    rmSync(temporary, { recursive: true });
    expect(await afterCrash()).toEqual(['a1']);
    await journal.close();
  });
});

it('a link that waits where the journal writes its new file leads nowhere', async () => {
  const target = path.join(disk.dir, 'target');
  writeFileSync(target, 'precious', { mode: 0o644 });
  symlinkSync(target, path.join(disk.dir, '.pod-status.journal.tmp'));
  const { journal } = await open();
  journal.accepted(entry('a', 'a1'));
  await journal.close();
  expect(readFileSync(target, 'utf8')).toBe('precious');
  expect(readdirSync(disk.dir).toSorted()).toEqual(['pod-status.journal', 'target']);
  expect(statSync(file()).mode & 0o777).toBe(0o600);
});
