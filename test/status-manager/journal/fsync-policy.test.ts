import type * as fs from 'node:fs';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { fileJournal } from '../../../src/status-manager/journal/file-journal.ts';
import type { FsyncPolicy } from '../../../src/status-manager/journal/journal-recorder.ts';
import type { JournalEntry } from '../../../src/status-manager/journal/journal.ts';
import { FakeClock } from '../../../src/testing/fake-clock.ts';
import { recordingLogger } from '../../../src/testing/recording-logger.ts';
import { goodNews } from '../../support/log-lines.ts';

/** What the disk was told, in order, and how much of the file a crash of the machine would leave. */
const disk = vi.hoisted(() => ({
  dir: '',
  calls: [] as string[],
  safeBytes: 0,
  isFailing: false,
  answerFdatasync: (done: fs.NoParamCallback): void => done(null),
}));
vi.mock('node:fs', async (importOriginal) => {
  const original = await importOriginal<typeof fs>();
  const record = (call: string, fd: number): void => {
    const stats = original.fstatSync(fd);
    disk.calls.push(`${call} ${stats.isDirectory() ? 'directory' : 'file'}`);
    if (stats.isFile() && call !== 'close') disk.safeBytes = stats.size;
  };
  return {
    ...original,
    fsyncSync: (fd: number): void => {
      record('fsync', fd);
      if (disk.isFailing) throw new Error('input/output error');
      original.fsyncSync(fd);
    },
    fdatasync: (fd: number, done: fs.NoParamCallback): void => {
      record('fdatasync', fd);
      disk.answerFdatasync(done);
    },
    renameSync: (from: string, to: string): void => {
      disk.calls.push('rename file');
      original.renameSync(from, to);
    },
    close: (fd: number, done: fs.NoParamCallback): void => {
      record('close', fd);
      original.closeSync(fd);
      done(disk.isFailing ? new Error('input/output error') : null);
    },
    closeSync: (fd: number): void => {
      record('close', fd);
      original.closeSync(fd);
      if (disk.isFailing) throw new Error('input/output error');
    },
  };
});

beforeEach(() => {
  disk.dir = mkdtempSync(path.join(tmpdir(), 'journal-'));
  disk.isFailing = false;
  disk.answerFdatasync = (done) => done(null);
});
afterEach(() => rmSync(disk.dir, { recursive: true }));

const bytes = (): number => statSync(path.join(disk.dir, 'pod-status.journal')).size;

function entry(podUID: string): JournalEntry {
  const acceptedAt = '2000-01-01T00:00:00Z';
  return { podUID, podNamespace: 'default', podName: podUID, podIsFinished: false, acceptedAt, status: {} };
}

function takeCalls(): string[] {
  return disk.calls.splice(0);
}

async function open(fsync?: FsyncPolicy) {
  takeCalls();
  const clock = new FakeClock();
  const logger = recordingLogger();
  return { journal: await fileJournal(disk.dir, { fsync, clock, logger }), clock, logger };
}

describe('a journal that syncs always', () => {
  it('has each line on the disk before it returns', async () => {
    const { journal, clock } = await open('always');
    takeCalls();
    for (const write of [
      () => journal.accepted(entry('a')),
      () => journal.accepted(entry('b')),
      () => journal.settled('a'),
    ]) {
      write();
      expect(takeCalls()).toEqual(['fsync file']);
      expect(disk.safeBytes).toBe(bytes());
    }
    // Only the check that the file is still in its place is left.
    expect(clock.pendingTimers).toBe(1);
    await journal.close();
  });
});

describe('a journal that syncs once an interval', () => {
  it('is the default', async () => {
    const { journal, clock } = await open();
    takeCalls();
    journal.accepted(entry('a'));
    clock.advance(1_000);
    expect(takeCalls()).toEqual(['fdatasync file']);
    await journal.close();
  });

  it('keeps the descriptor open for a slow sync when the file is replaced in the meantime', async () => {
    const { journal, clock } = await open('interval');
    const done: fs.NoParamCallback[] = [];
    disk.answerFdatasync = (callback) => void done.push(callback);
    for (const podUID of ['a', 'b']) {
      journal.accepted(entry(podUID));
      clock.advance(1_000);
    }
    expect(done).toHaveLength(2);
    rmSync(path.join(disk.dir, 'pod-status.journal'));
    journal.accepted(entry('c'));
    done[1]!(null);
    await clock.advanceAsync(0);
    expect(takeCalls().filter((call) => call === 'close file')).toEqual([]);
    done[0]!(null);
    await clock.advanceAsync(0);
    expect(takeCalls()).toEqual(['close file']);
    await journal.close();
  });

  it('syncs once, a second after the first line, for all lines of that second', async () => {
    const { journal, clock } = await open('interval');
    takeCalls();
    journal.accepted(entry('a'));
    clock.advance(600);
    journal.accepted(entry('b'));
    journal.settled('a');
    clock.advance(399);
    expect(takeCalls()).toEqual([]);
    clock.advance(1);
    expect(takeCalls()).toEqual(['fdatasync file']);
    expect(disk.safeBytes).toBe(bytes());
    clock.advance(1_000);
    expect(takeCalls()).toEqual([]);
    await journal.close();
  });

  it('does not sync while nothing is written, and syncs the next line', async () => {
    const { journal, clock } = await open('interval');
    takeCalls();
    expect(clock.pendingTimers).toBe(0);
    for (const podUID of ['a', 'b']) {
      journal.accepted(entry(podUID));
      clock.advance(1_000);
      expect(takeCalls()).toEqual(['fdatasync file']);
      clock.advance(60_000);
      expect(takeCalls()).toEqual([]);
    }
    expect(disk.safeBytes).toBe(bytes());
    await journal.close();
  });

  it('logs a sync that failed, syncs the next line, and logs that it can', async () => {
    const { journal, clock, logger } = await open('interval');
    disk.answerFdatasync = (done) => done(new Error('input/output error'));
    journal.accepted(entry('a'));
    clock.advance(1_000);
    await clock.yieldToEventLoop();
    expect(logger.errors).toMatchObject([{ fields: { action: 'sync', reason: 'input/output error' } }]);
    disk.answerFdatasync = (done) => done(null);
    takeCalls();
    journal.accepted(entry('b'));
    clock.advance(1_000);
    expect(takeCalls()).toEqual(['fdatasync file']);
    await clock.yieldToEventLoop();
    expect(goodNews(logger)).toMatchObject([{ fields: { action: 'sync', outageMs: 1_000 } }]);
    await journal.close();
  });

  it('closes the file after a sync in progress has ended, and starts no other', async () => {
    const { journal, clock } = await open('interval');
    let answer: fs.NoParamCallback = () => expect.unreachable('nobody has synced');
    disk.answerFdatasync = (done) => {
      answer = done;
    };
    journal.accepted(entry('a'));
    clock.advance(1_000);
    journal.accepted(entry('b'));
    takeCalls();
    const closing = journal.close();
    await clock.yieldToEventLoop();
    clock.advance(1_000);
    expect(takeCalls()).toEqual([]);
    answer(null);
    await closing;
    expect(takeCalls()).toEqual(['fsync file', 'close file']);
    expect(disk.safeBytes).toBe(bytes());
  });
});

describe('a journal that syncs never', () => {
  it('leaves syncing to the operating system', async () => {
    const { journal, clock } = await open('never');
    journal.accepted(entry('a'));
    journal.accepted(entry('b'));
    journal.settled('a');
    clock.advance(60_000);
    expect(takeCalls()).toEqual([]);
    await journal.close();
  });
});

describe('an older status of a pod', () => {
  const marks = (): string[] => readFileSync(path.join(disk.dir, 'pod-status.journal'), 'utf8').match(/^\w+/gm) ?? [];

  it('is marked past after the newer one has been synced, so that a crash of the machine does not lose both', async () => {
    const { journal, clock } = await open('interval');
    let answer: fs.NoParamCallback = () => expect.unreachable('nobody has synced');
    disk.answerFdatasync = (done) => {
      answer = done;
    };
    journal.accepted(entry('a'));
    journal.accepted(entry('a'));
    clock.advance(1_000);
    expect(marks()).toEqual(['live', 'live']);
    answer(null);
    await clock.advanceAsync(0);
    expect(marks()).toEqual(['past', 'live']);
    await journal.close();
  });

  it('is marked past by the next sync when one has failed', async () => {
    const { journal, clock } = await open('interval');
    disk.answerFdatasync = (done) => done(new Error('input/output error'));
    journal.accepted(entry('a'));
    journal.accepted(entry('a'));
    await clock.advanceAsync(1_000);
    expect(marks()).toEqual(['live', 'live']);
    disk.answerFdatasync = (done) => done(null);
    journal.accepted(entry('b'));
    await clock.advanceAsync(1_000);
    expect(marks()).toEqual(['past', 'live', 'live']);
    await journal.close();
  });

  it('stays live while the newer one cannot be synced', async () => {
    const { journal, logger } = await open('always');
    journal.accepted(entry('a'));
    disk.isFailing = true;
    journal.accepted(entry('a'));
    expect(marks()).toEqual(['live', 'live']);
    expect(logger.errors).toMatchObject([{ fields: { action: 'sync', reason: 'input/output error' } }]);
    disk.isFailing = false;
    journal.accepted(entry('b'));
    expect(marks()).toEqual(['past', 'live', 'live']);
    await journal.close();
  });

  it('is marked past immediately when every status is synced, and when none is', async () => {
    for (const fsync of ['always', 'never'] as const) {
      const { journal } = await open(fsync);
      journal.accepted(entry('a'));
      journal.accepted(entry('a'));
      expect(marks().slice(-2)).toEqual(['past', 'live']);
      journal.settled('a');
      await journal.close();
    }
  });
});

describe('what an earlier run has left', () => {
  it.each<[FsyncPolicy, string[]]>([
    ['always', ['fsync file']],
    ['interval', ['fsync file']],
    ['never', []],
  ])('is synced with %s: that run may have ended before its own sync', async (fsync, calls) => {
    const { journal: earlier } = await open(fsync);
    earlier.accepted(entry('a'));
    await earlier.close();
    disk.safeBytes = 0;

    const { journal } = await open(fsync);
    expect(takeCalls()).toEqual(calls);
    expect(disk.safeBytes).toBe(fsync === 'never' ? 0 : bytes());
    await journal.close();
  });
});

it('a file that cannot be closed is logged: neither close() nor a compaction rejects', async () => {
  const { journal, logger, clock } = await open('interval');
  journal.accepted(entry('a'));
  rmSync(path.join(disk.dir, 'pod-status.journal'));
  journal.accepted(entry('b'));
  disk.isFailing = true;
  await clock.advanceAsync(0);
  await journal.close();
  disk.isFailing = false;
  expect(logger.errors.map(({ fields }) => fields.action)).toEqual(expect.arrayContaining(['close', 'sync']));
});

describe('a file that is created or replaced', () => {
  it.each<[FsyncPolicy, string[]]>([
    ['always', ['fsync file', 'fsync directory', 'close directory']],
    ['never', []],
  ])('with %s: the directory is synced, too', async (fsync, calls) => {
    const { journal } = await open(fsync);
    expect(takeCalls()).toEqual(calls);
    await journal.close();
  });

  it.each<[FsyncPolicy, string[]]>([
    ['interval', ['fsync file', 'rename file', 'fsync directory', 'close directory']],
    ['never', ['rename file']],
  ])(
    'with %s: the new file is synced before it replaces the old one, and the directory after that',
    async (fsync, calls) => {
      const { journal } = await open(fsync);
      journal.accepted(entry('a'));
      rmSync(path.join(disk.dir, 'pod-status.journal'));
      takeCalls();
      journal.accepted(entry('b'));
      expect(takeCalls().filter((call) => call !== 'close file')).toEqual(calls);
      await journal.close();
    },
  );
});
