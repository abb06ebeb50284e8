import {
  appendFileSync,
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { fileJournal, type FileJournalOptions } from '../../../src/status-manager/journal/file-journal.ts';
import { JournalFile } from '../../../src/status-manager/journal/journal-file.ts';
import { systemDisk } from '../../../src/shared/disk.ts';
import { BasicPodManager } from '../../../src/kube/pod-manager/basic-pod-manager.ts';
import { StatusManager } from '../../../src/status-manager/status-manager.ts';
import { afterCrash, entry, journalFile, newDirectory, openJournal, recovered } from './journals.ts';
import { goodNews } from '../../support/log-lines.ts';

let dir: string;
const file = (): string => journalFile(dir);

beforeEach(() => {
  dir = newDirectory();
});

describe('fileJournal', () => {
  it('starts empty in a directory that does not exist yet', async () => {
    dir = path.join(dir, 'a', 'b');
    const { journal } = await openJournal(dir);
    expect(journal.recovered).toEqual([]);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
  });

  it('recovers the newest accepted, unsettled status of each pod after a crash', async () => {
    const { journal } = await openJournal(dir);
    journal.accepted(entry('a', 'old'));
    journal.accepted(entry('b'));
    journal.accepted(entry('a', 'new'));
    journal.accepted(entry('c'));
    journal.settled('b');
    const { journal: next } = await afterCrash(dir);
    expect(next.recovered).toEqual([entry('a', 'new'), entry('c')]);
  });

  it('is opened in place: the file does not change while nothing is accepted', async () => {
    const { journal } = await openJournal(dir);
    journal.accepted(entry('a'));
    journal.accepted(entry('b'));
    await journal.close();
    const before = { ino: statSync(file()).ino, content: readFileSync(file(), 'utf8') };
    const { journal: next } = await openJournal(dir);
    expect(recovered({ journal: next })).toEqual(['a', 'b']);
    await next.close();
    expect({ ino: statSync(file()).ino, content: readFileSync(file(), 'utf8') }).toEqual(before);
  });

  it.each([
    ['a torn line', (bytes: Buffer) => bytes.subarray(0, bytes.length - 5)],
    ['zeros', (bytes: Buffer) => Buffer.concat([bytes.subarray(0, bytes.length - 20), Buffer.alloc(4096)])],
  ])('loses only the last line of a file that ends with %s, as after a crash', async (_what, damage) => {
    const { journal } = await openJournal(dir);
    for (const uid of ['a', 'b']) journal.accepted(entry(uid));
    await journal.close();
    writeFileSync(file(), damage(readFileSync(file())));

    const { journal: next, logger } = await openJournal(dir);
    expect(recovered({ journal: next })).toEqual(['a']);
    expect(logger.lines.map(({ level, message }) => `${level}: ${message}`)).toEqual([
      'warn: Removed an incomplete last line from the journal',
    ]);
    expect(logger.lines[0]!.fields).toEqual({ file: file(), incompleteBytes: expect.any(Number) as number });
    next.accepted(entry('d'));
    const { journal: third, logger: quiet } = await afterCrash(dir);
    expect(recovered({ journal: third })).toEqual(['a', 'd']);
    expect(quiet.lines).toEqual([]);
    expect(readdirSync(dir)).not.toContain('pod-status.journal.damaged');
  });

  it('does not grow with the number of updates, only with the number of live statuses', async () => {
    const { journal } = await openJournal(dir);
    const message = 'x'.repeat(1000);
    for (let i = 0; i < 5_000; i++) journal.accepted(entry(`pod-${i % 10}`, `${i} ${message}`));
    expect(statSync(file()).size).toBeLessThan(2 * 1024 * 1024);
    const { journal: next } = await afterCrash(dir);
    expect(next.recovered).toHaveLength(10);
  });

  it('is compacted when it is opened, after a run that left many settled statuses', async () => {
    const { journal } = await openJournal(dir);
    for (let i = 0; i < 300; i++) journal.accepted(entry(`pod-${i}`, 'x'.repeat(4_000)));
    for (let i = 1; i < 300; i++) journal.settled(`pod-${i}`);
    await journal.close();
    expect(statSync(file()).size).toBeGreaterThan(1024 * 1024);
    const next = await openJournal(dir);
    expect(next.journal.recovered).toHaveLength(1);
    expect(statSync(file()).size).toBeLessThan(5_000);
  });

  it('never grows beyond maxBytes: a status that does not fit is not recorded, and logged once', async () => {
    const { journal, logger } = await openJournal(dir, { maxBytes: 64 * 1024 });
    const message = 'x'.repeat(10_000);
    for (let i = 0; i < 20; i++) journal.accepted(entry(`pod-${i}`, message));
    expect(statSync(file()).size).toBeLessThanOrEqual(64 * 1024);
    expect(logger.errors).toMatchObject([
      {
        message: 'Statuses cannot be recorded in the journal and would be lost in a crash',
        fields: { reason: 'the journal has reached maxBytes', unrecorded: 1, pods: ['default/pod-6'] },
      },
    ]);
    const { journal: next } = await afterCrash(dir);
    expect(next.recovered).toHaveLength(6);
  });

  it('records a status that did not fit as soon as others are settled', async () => {
    const { journal, logger, clock } = await openJournal(dir, { maxBytes: 64 * 1024 });
    for (const uid of ['a', 'b', 'c', 'd']) journal.accepted(entry(uid, 'x'.repeat(20_000)));
    expect(logger.errors).toHaveLength(1);
    const failingSince = '2000-01-01T00:00:00Z';
    expect(journal.failure?.()).toEqual({ failingSince, reason: 'the journal has reached maxBytes' });
    const podManager = new BasicPodManager();
    const manager = new StatusManager({
      client: undefined,
      podManager,
      podCouldHaveRunningContainers: () => false,
      clock,
      journal,
    });
    expect(manager.inspect().journalFailure).toMatchObject({ failingSince });
    journal.settled('a');
    clock.advance(1_000);
    expect(manager.inspect().journalFailure).toBeUndefined();
    expect(goodNews(logger)).toMatchObject([
      { message: 'The journal can be written again; all unsent statuses are recorded', fields: { file: file() } },
    ]);
    const { journal: next } = await afterCrash(dir);
    expect(next.recovered.map(({ podUID }) => podUID).toSorted()).toEqual(['b', 'c', 'd']);
  });

  it('does not bring back an older status when the newer one did not fit, sent or not', async () => {
    const { journal } = await openJournal(dir, { maxBytes: 64 * 1024 });
    for (const uid of ['a', 'b', 'c']) journal.accepted(entry(uid, 'x'.repeat(20_000)));
    journal.accepted(entry('a', 'y'.repeat(30_000)));
    journal.accepted(entry('b', 'y'.repeat(70_000)));
    journal.settled('b');
    const { journal: next } = await afterCrash(dir);
    expect(next.recovered.map(({ podUID }) => podUID)).toEqual(['c']);
  });

  it('does not bring back an older status that waits for a sync when the newer one is settled or does not fit', async () => {
    const { journal } = await openJournal(dir, { maxBytes: 64 * 1024 });
    for (const uid of ['a', 'b']) for (const message of ['old', 'new']) journal.accepted(entry(uid, message));
    journal.settled('a');
    journal.accepted(entry('b', 'y'.repeat(70_000)));
    expect(recovered(await afterCrash(dir))).toEqual([]);
  });

  it('continues in the old file when it cannot be compacted', async () => {
    const { journal, logger } = await openJournal(dir);
    for (const uid of ['a', 'b', 'c']) journal.accepted(entry(uid));
    mkdirSync(path.join(dir, '.pod-status.journal.tmp', 'x'), { recursive: true });
    for (let i = 0; logger.errors.length === 0; i++) journal.accepted(entry('a', `${i}`.repeat(1_000)));
    expect(logger.errors).toMatchObject([
      { message: 'A journal file operation failed', fields: { action: 'compact', file: file() } },
    ]);
    journal.settled('b');
    journal.accepted(entry('d'));
    const { journal: next } = await afterCrash(dir);
    expect(next.recovered.map(({ podUID }) => podUID)).toEqual(['c', 'a', 'd']);
  });

  it('does nothing more once it is closed', async () => {
    const { journal } = await openJournal(dir);
    journal.accepted(entry('a'));
    await journal.close();
    const successor = await openJournal(dir);
    journal.accepted(entry('b'));
    journal.settled('a');
    await successor.journal.close();
    expect(recovered(await openJournal(dir))).toEqual(['a']);
  });

  it.each([
    ['deleted', () => rmSync(file())],
    ['renamed', () => renameSync(file(), path.join(dir, 'moved'))],
  ])('is written again in its place, with all live entries, when its file has been %s', async (_what, move) => {
    const { journal, logger, clock } = await openJournal(dir);
    journal.accepted(entry('a'));
    clock.advance(5_000);
    journal.accepted(entry('b'));
    clock.advance(2_000);
    move();
    journal.accepted(entry('c'));
    expect(recovered(await afterCrash(dir))).toEqual(['a', 'b', 'c']);
    expect(logger.errors).toMatchObject([
      {
        message: 'The journal file has been renamed or deleted; all unsent statuses are recorded in a new one',
        fields: { file: file(), since: '2000-01-01T00:00:06Z' },
      },
    ]);
    expect(journal.failure?.()).toBeUndefined();
  });

  it.each(['always', 'interval', 'never'] as const)(
    'with fsync %s, notices within a minute without a write that its file has been renamed',
    async (fsync) => {
      const { journal, clock } = await openJournal(dir, { fsync });
      journal.accepted(entry('a'));
      clock.advance(90_000);
      renameSync(file(), path.join(dir, 'moved'));
      clock.advance(60_000);
      expect(recovered(await afterCrash(dir))).toEqual(['a']);
      await journal.close();
      expect(clock.pendingTimers).toBe(0);
    },
  );

  it('notices it for what it has recovered, too', async () => {
    const before = await openJournal(dir);
    before.journal.accepted(entry('a'));
    await before.journal.close();
    const { clock } = await openJournal(dir);
    renameSync(file(), path.join(dir, 'moved'));
    clock.advance(60_000);
    expect(recovered(await afterCrash(dir))).toEqual(['a']);
  });

  it('shows that statuses are not recorded while its file cannot be written again, and since when', async () => {
    const { journal, logger, clock } = await openJournal(dir);
    journal.accepted(entry('a'));
    const moved = `${dir}-moved`;
    renameSync(dir, moved);
    clock.advance(60_000);
    expect(journal.failure?.()).toMatchObject({ failingSince: '2000-01-01T00:00:01Z' });
    renameSync(moved, dir);
    renameSync(file(), path.join(dir, 'moved'));
    clock.advance(61_000);
    expect(journal.failure?.()).toBeUndefined();
    expect(recovered(await afterCrash(dir))).toEqual(['a']);
    expect(goodNews(logger).map(({ message }) => message)).toContain(
      'The journal can be written again; all unsent statuses are recorded',
    );
  });

  it('does not lose another pod when its file has been deleted and a status does not fit into the new one', async () => {
    const { journal } = await openJournal(dir, { maxBytes: 64 * 1024 });
    for (const uid of ['a', 'b', 'c']) journal.accepted(entry(uid, 'x'.repeat(10_000)));
    rmSync(file());
    journal.accepted(entry('a', 'y'.repeat(60_000)));
    const { journal: next } = await afterCrash(dir);
    expect(next.recovered.map(({ podUID }) => podUID)).toEqual(['b', 'c']);
  });

  it('does not modify a file that has replaced its own, and logs it', async () => {
    const { journal, logger } = await openJournal(dir);
    journal.accepted(entry('a'));
    const other = path.join(dir, 'other');
    writeFileSync(other, 'precious');
    renameSync(other, file());
    journal.accepted(entry('b'));
    journal.settled('a');
    const reason = 'another process has replaced the file';
    expect(journal.failure?.()).toEqual({ failingSince: '2000-01-01T00:00:00Z', reason });
    await journal.close();
    expect(logger.errors).toMatchObject([
      {
        message: 'Another process has replaced the journal file; nothing more is recorded',
        fields: { file: file() },
      },
    ]);
    expect(readFileSync(file(), 'utf8')).toBe('precious');
  });

  it.each([
    ['a second name', () => linkSync(file(), path.join(dir, 'other'))],
    ['permissions for other users', () => chmodSync(file(), 0o644)],
  ])('a file with %s is replaced', async (_what, change) => {
    const { journal } = await openJournal(dir);
    journal.accepted(entry('a'));
    await journal.close();
    change();
    const inode = statSync(file()).ino;
    const next = await openJournal(dir);
    expect(recovered(next)).toEqual(['a']);
    expect(statSync(file())).toMatchObject({ nlink: 1 });
    expect(statSync(file()).ino).not.toBe(inode);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
  });

  it('does not follow a symbolic link in the place of its file, or of the new file when it is compacted', async () => {
    const target = path.join(dir, 'target');
    writeFileSync(target, '', { mode: 0o644 });
    symlinkSync(target, file());
    symlinkSync(target, path.join(dir, '.pod-status.journal.tmp'));
    const { journal } = await openJournal(dir);
    journal.accepted(entry('a'));
    expect(recovered(await afterCrash(dir))).toEqual(['a']);
    expect(readFileSync(target, 'utf8')).toBe('');
    expect(statSync(file()).mode & 0o777).toBe(0o600);
  });

  it('a logger that throws affects nothing', async () => {
    const broken = (): void => {
      throw new Error('no log');
    };
    writeFileSync(file(), 'live 00000000 {}\n');
    const logger = { trace: broken, debug: broken, info: broken, warn: broken, error: broken };
    const journal = await fileJournal(dir, { logger });
    rmSync(file());
    mkdirSync(file());
    expect(() => journal.accepted(entry('a'))).not.toThrow();
    await journal.close();
  });

  it.each<[string, FileJournalOptions, string]>([
    ['fsync', { fsync: 'sometimes' as 'always' }, "to be 'always', 'interval' or 'never'"],
    ['maxBytes', { maxBytes: 64 * 1024 - 1 }, 'to be an integer ≥ 65536'],
  ])('refuses a bad %s', async (field, options, expected) => {
    await expect(fileJournal(dir, options)).rejects.toMatchObject({
      ...{ code: 'INVALID_OPTION', path: field },
      message: expect.stringContaining(expected) as string,
    });
  });

  it.each(['', 7 as unknown as string])('refuses a directory that is no name: %j', async (name) => {
    await expect(fileJournal(name)).rejects.toMatchObject({
      ...{ code: 'INVALID_OPTION', path: 'dir' },
      message: expect.stringContaining('a non-empty string') as string,
    });
  });

  it('refuses options that are no object', async () => {
    await expect(fileJournal(dir, 7 as FileJournalOptions)).rejects.toMatchObject({ path: 'options' });
  });

  it('works without a lock where none can be made, and warns of it', async () => {
    dir = path.join(dir, 'x'.repeat(120));
    // A long path needs a short name in the directory for temporary files.
    vi.stubEnv('TMPDIR', path.join(dir, 'missing'));
    onTestFinished(() => void vi.unstubAllEnvs());
    const { journal, logger } = await openJournal(dir);
    vi.unstubAllEnvs();
    expect(logger.lines).toMatchObject([
      {
        level: 'warn',
        message: 'The directory of the journal cannot be locked; make sure that no other process uses it',
        fields: { dir, reason: expect.stringContaining('ENOENT') as string },
      },
    ]);
    journal.accepted(entry('a'));
    expect(recovered(await afterCrash(dir))).toEqual(['a']);
    await journal.close();
  });

  it('says what is wrong with its file, and nothing of its own is left', async () => {
    mkdirSync(file());
    await expect(fileJournal(dir)).rejects.toMatchObject({
      ...{ code: 'JOURNAL_UNUSABLE', path: 'dir', cause: expect.any(Error) as Error },
      message: `Cannot use the journal ${file()}: ${file()} is a directory, not a regular file`,
    });
    expect(readdirSync(dir)).toEqual(['pod-status.journal']);
  });

  it('recovers a file that is larger than its maxBytes', async () => {
    const { journal } = await openJournal(dir);
    for (let i = 0; i < 20; i++) journal.accepted(entry(`pod-${i}`, 'x'.repeat(10_000)));
    await journal.close();
    const { journal: next } = await openJournal(dir, { maxBytes: 64 * 1024 });
    expect(next.recovered).toHaveLength(20);
  });

  it.skipIf(process.platform === 'win32')('never writes to a device in the place of its file', () => {
    expect(() => JournalFile.open(systemDisk, '/dev/null', 0)).toThrow('/dev/null is not a regular file');
  });

  it('says which file cannot be used', async () => {
    writeFileSync(path.join(dir, 'file'), '');
    await expect(fileJournal(path.join(dir, 'file'))).rejects.toMatchObject({
      code: 'JOURNAL_UNUSABLE',
      message: expect.stringContaining('pod-status.journal') as string,
    });
  });
});

describe('damage', () => {
  /** The lines of a file in which a was updated, with the line of `damagedIndex` changed by `damage`. */
  async function damagedFile(damagedIndex: number, damage: (line: string) => string): Promise<void> {
    const { journal } = await openJournal(dir);
    for (const [uid, message] of [
      ['a', 'a1'],
      ['b', 'b1'],
      ['a', 'a2'],
      ['c', 'c1'],
    ] as const) {
      journal.accepted(entry(uid, message));
    }
    const lines = readFileSync(file(), 'utf8').split(/(?<=\n)/);
    await journal.close();
    lines[damagedIndex] = damage(lines[damagedIndex]!);
    writeFileSync(file(), lines.join(''));
  }

  it.each([
    ['status', (line: string) => line.replace('Running', 'Runnimg')],
    ['mark', (line: string) => line.replace('live', 'l?ve')],
    ['checksum', (line: string) => line.replace(/^live ......../, 'live 00000000')],
  ])('in the middle (%s) costs one line, and no older status of its pod comes back', async (_what, damage) => {
    await damagedFile(2, damage);
    const content = readFileSync(file(), 'utf8');
    const { journal, logger } = await openJournal(dir);
    expect(recovered({ journal })).toEqual(['b b1', 'c c1']);
    expect(logger.errors).toMatchObject([
      {
        message:
          'The journal is damaged: the statuses in damaged lines are lost, and older ones of the same pods are dropped',
        fields: { damagedLines: 1, savedAs: `${file()}.damaged`, droppedPods: ['default/a'] },
      },
    ]);
    expect(readFileSync(`${file()}.damaged`, 'utf8')).toBe(content.replace(/^live .{8}/, 'past --------'));
    journal.accepted(entry('d'));
    const next = await afterCrash(dir);
    expect(recovered(next)).toEqual(['b b1', 'c c1', 'd']);
    expect(next.logger.lines).toEqual([]);
  });

  it('of a newline does not affect the next line', async () => {
    await damagedFile(2, (line) => line.replace('\n', '?'));
    expect(recovered(await openJournal(dir))).toEqual(['b b1', 'c c1']);
  });

  it('of an older status does not affect the newer one', async () => {
    await damagedFile(0, (line) => line.replace('Running', 'Runnimg'));
    expect(recovered(await openJournal(dir))).toEqual(['b b1', 'a a2', 'c c1']);
  });

  it('never recovers an older status when the damaged lines name no pod', async () => {
    const { journal, clock } = await openJournal(dir);
    journal.accepted(entry('a', 'a1'));
    journal.accepted(entry('a', 'a2'));
    journal.accepted(entry('b', 'b1'));
    // With the interval, the older line is marked past when the newer one is on the disk.
    clock.advance(1_000);
    await journal.close();
    const lines = readFileSync(file(), 'utf8').split(/(?<=\n)/);
    writeFileSync(file(), [lines[0], `${'?'.repeat(lines[1]!.length - 1)}\n`, lines[2]].join(''));
    expect(recovered(await openJournal(dir))).toEqual(['b b1']);
  });

  it('of a file of random bytes among thousands of pods is read in reasonable time', async () => {
    const { journal } = await openJournal(dir);
    for (let i = 0; i < 5_000; i++) journal.accepted(entry(`pod-${i}`));
    await journal.close();
    appendFileSync(file(), 'x\n'.repeat(200_000));
    const next = await openJournal(dir);
    expect(next.journal.recovered).toHaveLength(5_000);
    expect(next.logger.errors).toMatchObject([{ fields: { damagedLines: 200_000, droppedPods: [] } }]);
  });

  it('is not repaired by a line that is JSON with a wrong checksum', async () => {
    await damagedFile(0, (line) => line);
    appendFileSync(file(), 'live 00000000 {"sequence":9,"entry":{"podUID":"z","status":{}}}\n');
    expect(recovered(await openJournal(dir))).toEqual(['b b1', 'a a2', 'c c1']);
  });
});
