import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import type { FsyncPolicy } from '../../../src/status-manager/journal/journal-recorder.ts';
import { afterCrash, entry, journalFile, newDirectory, type OpenJournal, openJournal, recovered } from './journals.ts';
import { goodNews } from '../../support/log-lines.ts';

const padding = 'x'.repeat(2_000);
const pods = Array.from({ length: 300 }, (_, i) => `pod-${i}`);

let dir: string;
beforeEach(() => {
  dir = newDirectory();
});

const temporary = (): string => path.join(dir, '.pod-status.journal.tmp');
const size = (): number => statSync(journalFile(dir)).size;

function accept({ journal }: OpenJournal, message: string): void {
  for (const uid of pods) journal.accepted(entry(uid, `${message} ${padding}`));
}

interface Compacting extends OpenJournal {
  /** Lets the compaction continue by one turn of the event loop; it does not continue on its own. */
  turn(): Promise<void>;
}

/** A journal of 300 live statuses whose file has just become so large that it is compacted. */
async function compacting(fsync: FsyncPolicy = 'never'): Promise<Compacting> {
  const opened = await openJournal(dir, { fsync });
  const waiting: (() => void)[] = [];
  opened.clock.yieldToEventLoop = () => new Promise((resolve) => waiting.push(resolve));
  const turn = async (): Promise<void> => {
    for (const resolve of waiting.splice(0)) resolve();
    await setImmediate();
  };
  for (let round = 0; !existsSync(temporary()); round++) {
    for (const uid of pods) {
      opened.journal.accepted(entry(uid, `${round} ${padding}`));
      if (existsSync(temporary())) break;
    }
  }
  return { ...opened, turn };
}

/** `podUID message`, without the padding, in the order of the pods. */
async function afterRestart(): Promise<string[]> {
  const lines = recovered(await afterCrash(dir)).map((line) => line.replace(` ${padding}`, ''));
  return lines.toSorted((a, b) => a.localeCompare(b));
}

describe('a compaction of many live statuses', () => {
  it('copies 64 of them in one turn of the event loop', async () => {
    const { turn } = await compacting();
    const before = size();
    const lines = (): number => readFileSync(temporary(), 'utf8').split('\n').length - 1;
    for (let copied = 64; copied < 300; copied += 64) {
      expect(lines()).toBe(copied);
      await turn();
    }
    expect(size()).toBe(before);
    await turn();
    expect(existsSync(temporary())).toBe(false);
    expect(size()).toBeLessThan(before / 3);
    expect(await afterRestart()).toHaveLength(300);
  });

  it('loses nothing that is accepted or settled while it is under way, whenever the process crashes', async () => {
    const opened = await compacting();
    const { journal, turn } = opened;
    const expected = new Map((await afterRestart()).map((line) => line.split(' ') as [string, string]));
    const lines = (): string[] => Array.from(expected, (pair) => pair.join(' ')).toSorted((a, b) => a.localeCompare(b));
    for (let i = 0; existsSync(temporary()); i++) {
      journal.accepted(entry(`new-${i}`, `turn${i} ${padding}`));
      expected.set(`new-${i}`, `turn${i}`);
      for (const third of [0, 100, 200]) {
        const [changed, settled] = [`pod-${third + 7 * i}`, `pod-${third + 7 * i + 3}`];
        journal.accepted(entry(changed, `turn${i} ${padding}`));
        journal.settled(settled);
        expected.set(changed, `turn${i}`).delete(settled);
      }
      expect(await afterRestart()).toEqual(lines());
      await turn();
    }
    expect(await afterRestart()).toEqual(lines());
    accept(opened, 'later');
    expect((await afterRestart()).filter((line) => line.endsWith(' later'))).toHaveLength(300);
  });

  it('loses nothing that is accepted in the turn in which it begins, with few large statuses', async () => {
    const { journal } = await openJournal(dir, { fsync: 'never' });
    const uids = pods.slice(0, 40);
    const acceptAll = (message: string): void => {
      for (const uid of uids) journal.accepted(entry(uid, `${message} ${padding.repeat(5)}`));
    };
    while (!existsSync(temporary())) acceptAll('older');
    acceptAll('newest');
    await setImmediate();
    expect(existsSync(temporary())).toBe(false);
    const lines = recovered(await afterCrash(dir));
    expect(lines.filter((line) => line.includes(' newest '))).toHaveLength(40);
  });

  it('is given up when the journal is closed, and leaves nothing behind', async () => {
    const { journal, logger, turn } = await compacting();
    const closed = journal.close();
    await turn();
    await closed;
    expect(readdirSync(dir)).toEqual(['pod-status.journal']);
    expect(await afterRestart()).toHaveLength(300);
    expect(logger.lines).toEqual([]);
  });

  it('is given up when the file was deleted: the new file has all statuses', async () => {
    const { journal, turn } = await compacting();
    rmSync(journalFile(dir));
    journal.accepted(entry('new'));
    expect(await afterRestart()).toHaveLength(301);
    journal.settled('new');
    await turn();
    expect(existsSync(temporary())).toBe(false);
    expect(await afterRestart()).toHaveLength(300);
  });

  it('is given up when its file cannot take the place of the old one, which has all statuses', async () => {
    const { journal, logger, turn } = await compacting();
    rmSync(temporary());
    while (logger.errors.length === 0) await turn();
    expect(logger.errors).toMatchObject([{ fields: { action: 'compact' } }]);
    journal.accepted(entry('new'));
    expect(await afterRestart()).toHaveLength(301);
  });

  it('logs that its file cannot be removed', async () => {
    const { journal, logger, turn } = await compacting();
    rmSync(temporary());
    mkdirSync(path.join(temporary(), 'x'), { recursive: true });
    while (logger.errors.length < 2) await turn();
    expect(logger.errors.map(({ fields }) => fields.action)).toEqual(['compact', 'discard the new file']);
    journal.accepted(entry('new'));
    rmSync(temporary(), { recursive: true });
    expect(await afterRestart()).toHaveLength(301);
  });

  it('syncs the new file before it replaces the old one, and can follow another compaction', async () => {
    const opened = await compacting('interval');
    while (existsSync(temporary())) await opened.turn();
    for (let round = 0; !existsSync(temporary()); round++) accept(opened, `again${round}`);
    while (existsSync(temporary())) await opened.turn();
    expect(size()).toBeLessThan(1024 * 1024);
    expect(opened.logger.lines).toEqual([]);
  });
});

it('lines that are marked past in slices are marked before the file is closed', async () => {
  const { journal, clock } = await openJournal(dir, { fsync: 'interval' });
  const marks = (mark: string): number => readFileSync(journalFile(dir), 'utf8').split(`${mark} `).length - 1;
  for (const message of ['1', '2']) for (const uid of pods) journal.accepted(entry(uid, message));
  expect([marks('live'), marks('past')]).toEqual([600, 0]);
  const waiting: (() => void)[] = [];
  clock.yieldToEventLoop = () => new Promise((resolve) => waiting.push(resolve));
  clock.advance(1_000);
  while (waiting.length === 0) await setImmediate();
  expect(marks('past')).toBe(256);
  const closed = journal.close();
  await setImmediate();
  waiting[0]!();
  await closed;
  expect([marks('live'), marks('past')]).toEqual([300, 300]);
});

it('a compaction that failed is tried again after a second, then less often, at least every 10 s', async () => {
  const { journal, logger, clock } = await openJournal(dir, { fsync: 'never' });
  mkdirSync(path.join(temporary(), 'x'), { recursive: true });
  while (logger.errors.length === 0) journal.accepted(entry('a', padding));
  for (const delayMs of [1_000, 2_000, 4_000, 8_000, 10_000]) {
    clock.advance(delayMs - 1);
    journal.accepted(entry('a', padding));
    rmSync(temporary(), { recursive: true });
    journal.accepted(entry('a', padding));
    expect(size()).toBeGreaterThan(1024 * 1024);
    mkdirSync(path.join(temporary(), 'x'), { recursive: true });
    clock.advance(1);
    journal.accepted(entry('a', padding));
  }
  rmSync(temporary(), { recursive: true });
  clock.advance(10_000);
  journal.accepted(entry('a', 'new'));
  expect(size()).toBeLessThan(10_000);
  expect(goodNews(logger)).toMatchObject([{ fields: { action: 'compact', outageMs: 35_000 } }]);
  expect(recovered(await afterCrash(dir))).toEqual(['a new']);
});
