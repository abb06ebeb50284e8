import { mkdirSync, appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fileJournal, type FileJournalOptions } from '../../src/journal/file-journal.ts';
import type { JournalEntry } from '../../src/journal/journal.ts';
import { FakeClock } from '../../src/testing/fake-clock.ts';
import { recordingLogger } from '../support/recording-logger.ts';

let dir: string;
const file = (): string => path.join(dir, 'pod-status.journal');

beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'journal-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

function entry(podUID: string, message = ''): JournalEntry {
  return {
    podUID,
    podNamespace: 'default',
    podName: podUID,
    podIsFinished: false,
    acceptedAt: '2000-01-01T00:00:00Z',
    status: { phase: 'Running', ...(message !== '' && { message }) },
  };
}

async function open(options: FileJournalOptions = {}) {
  const logger = recordingLogger();
  const journal = await fileJournal(dir, { logger, clock: new FakeClock(), ...options });
  return { journal, logger };
}

describe('fileJournal', () => {
  it('starts empty in a directory that is not there yet', async () => {
    const nested = path.join(dir, 'a', 'b');
    const journal = await fileJournal(nested, { clock: new FakeClock() });
    expect(journal.recovered).toEqual([]);
    await journal.close();
    expect(statSync(path.join(nested, 'pod-status.journal')).mode & 0o777).toBe(0o600);
  });

  it('keeps what was accepted over a crash, the newest of each pod, without what was settled', async () => {
    const { journal } = await open();
    journal.accepted(entry('a', 'old'));
    journal.accepted(entry('b'));
    journal.accepted(entry('a', 'new'));
    journal.accepted(entry('c'));
    journal.settled('b');
    // No close(): the process is gone.
    const { journal: next } = await open();
    expect(next.recovered).toEqual([entry('a', 'new'), entry('c')]);
    await next.close();
  });

  it.each<[string, (bytes: Buffer) => Buffer]>([
    ['torn', (bytes) => bytes.subarray(0, bytes.length - 5)],
    ['corrupt', (bytes) => Buffer.concat([bytes.subarray(0, bytes.length - 20), Buffer.alloc(20, 'x')])],
    ['followed by garbage', (bytes) => Buffer.concat([bytes, Buffer.from('no checksum\n{"accepted":1}\n')])],
  ])('loses only the end of a file whose end is %s, says so, and starts', async (_kind, damage) => {
    const { journal } = await open();
    journal.accepted(entry('a'));
    journal.accepted(entry('b'));
    await journal.close();
    writeFileSync(file(), damage(readFileSync(file())));

    const { journal: next, logger } = await open();
    expect(next.recovered[0]).toEqual(entry('a'));
    expect(logger.warnings).toEqual([
      expect.objectContaining({ message: 'The end of the journal was torn or corrupt and has been dropped' }),
    ]);
    next.accepted(entry('d'));
    await next.close();
    const { journal: third, logger: quiet } = await open();
    expect(third.recovered).toContainEqual(entry('d'));
    expect(quiet.warnings).toEqual([]);
    await third.close();
  });

  it('is not fooled by a line that is JSON with a wrong checksum', async () => {
    const { journal } = await open();
    journal.accepted(entry('a'));
    await journal.close();
    appendFileSync(file(), '00000000 {}\n');
    const { journal: next } = await open();
    expect(next.recovered).toEqual([entry('a')]);
    await next.close();
  });

  it('does not grow with the number of updates, only with what is in force', async () => {
    const { journal } = await open();
    const message = 'x'.repeat(1000);
    for (let i = 0; i < 5_000; i++) journal.accepted(entry(`pod-${i % 10}`, `${i} ${message}`));
    expect(statSync(file()).size).toBeLessThan(2 * 1024 * 1024);
    await journal.close();
    const { journal: next } = await open();
    expect(next.recovered).toHaveLength(10);
    await next.close();
  });

  it('never grows beyond maxBytes: what does not fit is not kept, and said once', async () => {
    const { journal, logger } = await open({ maxBytes: 64 * 1024 });
    const message = 'x'.repeat(10_000);
    for (let i = 0; i < 20; i++) journal.accepted(entry(`pod-${i}`, message));
    expect(statSync(file()).size).toBeLessThanOrEqual(64 * 1024);
    expect(logger.errors).toEqual([expect.objectContaining({ message: 'The journal is full' })]);
    await journal.close();
    const { journal: next } = await open();
    expect(next.recovered).toHaveLength(6);
    await next.close();
  });

  it('does not bring back an older status when the newer one did not fit, sent or not', async () => {
    const { journal } = await open({ maxBytes: 64 * 1024 });
    for (const uid of ['a', 'b', 'c']) journal.accepted(entry(uid, 'x'.repeat(20_000)));
    journal.accepted(entry('a', 'y'.repeat(30_000)));
    journal.accepted(entry('b', 'y'.repeat(70_000)));
    journal.settled('b');
    const { journal: afterCrash } = await open();
    expect(afterCrash.recovered.map(({ podUID }) => podUID)).toEqual(['c']);
    await journal.close();
    await afterCrash.close();
  });

  it('writes all of it anew after a write that failed, and loses nothing that came before or after', async () => {
    const clock = new FakeClock();
    const { journal, logger } = await open({ clock });
    for (const uid of ['a', 'b', 'c']) journal.accepted(entry(uid));
    // A journal that has to be compacted cannot be where its new file is a directory.
    const temporary = path.join(dir, '.pod-status.journal.tmp');
    mkdirSync(path.join(temporary, 'x'), { recursive: true });
    for (let i = 0; logger.errors.length === 0; i++) journal.accepted(entry('a', `${i}`.repeat(1_000)));
    expect(logger.errors[0]).toMatchObject({ message: 'The journal cannot be written' });
    journal.settled('b');
    journal.accepted(entry('d'));
    rmSync(temporary, { recursive: true });
    clock.advance(1_000);
    const { journal: afterCrash } = await open();
    expect(afterCrash.recovered.map(({ podUID }) => podUID)).toEqual(['c', 'a', 'd']);
    await afterCrash.close();
    await journal.close();
    expect(clock.pendingTimers).toBe(0);
  });

  it('leaves the file to its successor once it is closed', async () => {
    const { journal } = await open();
    journal.accepted(entry('a'));
    await journal.close();
    const { journal: successor } = await open();
    journal.accepted(entry('b'));
    journal.settled('a');
    await successor.close();
    const { journal: third } = await open();
    expect(third.recovered.map(({ podUID }) => podUID)).toEqual(['a']);
    await third.close();
  });

  it('belongs to the last that opened it: the others say so, and leave its file alone', async () => {
    const { journal: first, logger } = await open();
    first.accepted(entry('a'));
    const { journal: second } = await open();
    second.accepted(entry('b'));
    first.accepted(entry('c'));
    first.settled('a');
    expect(logger.errors).toMatchObject([{ message: 'Another journal has taken over the file; nothing more is kept' }]);
    await first.close();
    const { journal: afterCrash } = await open();
    expect(afterCrash.recovered.map(({ podUID }) => podUID)).toEqual(['a', 'b']);
    await second.close();
    await afterCrash.close();
  });

  it('does not take the file back when it is closed with a write to be made good', async () => {
    const { journal: first, logger } = await open();
    first.accepted(entry('a'));
    const temporary = path.join(dir, '.pod-status.journal.tmp');
    mkdirSync(path.join(temporary, 'x'), { recursive: true });
    for (let i = 0; logger.errors.length === 0; i++) first.accepted(entry('a', `${i}`.repeat(1_000)));
    rmSync(temporary, { recursive: true });
    const { journal: second } = await open();
    second.accepted(entry('b'));
    await first.close();
    await second.close();
    const { journal: third } = await open();
    expect(third.recovered.map(({ podUID }) => podUID)).toEqual(['a', 'b']);
    await third.close();
  });

  it('is written anew when its file has been removed', async () => {
    const { journal } = await open();
    journal.accepted(entry('a'));
    rmSync(file());
    journal.accepted(entry('b'));
    const { journal: afterCrash } = await open();
    expect(afterCrash.recovered.map(({ podUID }) => podUID)).toEqual(['a', 'b']);
    await journal.close();
    await afterCrash.close();
  });

  it('syncs to disk after an interval, and leaves no timer when closed', async () => {
    const clock = new FakeClock();
    const { journal } = await open({ clock });
    journal.accepted(entry('a'));
    journal.accepted(entry('b'));
    expect(clock.pendingTimers).toBe(1);
    clock.advance(1_000);
    expect(clock.pendingTimers).toBe(0);
    journal.accepted(entry('c'));
    await journal.close();
    expect(clock.pendingTimers).toBe(0);
  });

  it.each<[string, FileJournalOptions, string]>([
    ['fsync', { fsync: 'sometimes' as 'always' }, 'fsync'],
    ['maxBytes', { maxBytes: 10 }, 'maxBytes'],
  ])('refuses a bad %s', async (_name, options, member) => {
    await expect(fileJournal(dir, options)).rejects.toMatchObject({ code: 'INVALID_OPTION', path: member });
  });

  it('says which file cannot be used', async () => {
    writeFileSync(path.join(dir, 'file'), '');
    await expect(fileJournal(path.join(dir, 'file'))).rejects.toMatchObject({
      code: 'JOURNAL_UNUSABLE',
      message: expect.stringContaining('pod-status.journal') as string,
    });
  });
});
