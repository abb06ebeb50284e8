import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { fileJournal } from '../../../src/status-manager/journal/file-journal.ts';
import { entry, journalFile, newDirectory, openJournal, recovered } from './journals.ts';

let dir: string;
beforeEach(() => {
  dir = newDirectory();
});

const lockFile = (): string => path.join(dir, 'pod-status.lock.12345678');
const locks = (): string[] => readdirSync(dir).filter((name) => name.startsWith('pod-status.lock'));

/** Leaves the lock of a process that was killed: a socket on which nobody listens. */
async function leaveStaleLock(): Promise<void> {
  const program = `require('node:net').createServer().listen(${JSON.stringify(lockFile())}, () => process.send('locked'))`;
  const script = path.join(newDirectory(), 'owner.cjs');
  writeFileSync(script, program);
  const child = fork(script);
  await once(child, 'message');
  child.kill('SIGKILL');
  await once(child, 'exit');
}

it.skipIf(!existsSync('/proc/self'))('a directory below /proc is refused, instead of never ending', async () => {
  await expect(fileJournal('/proc/nope')).rejects.toMatchObject({ code: 'JOURNAL_UNUSABLE' });
});

describe('two agents on one directory', () => {
  it('the second is refused with the PID of the first and what to do, and the first loses nothing', async () => {
    const { journal } = await openJournal(dir);
    journal.accepted(entry('a'));
    await expect(fileJournal(dir)).rejects.toMatchObject({
      code: 'JOURNAL_UNUSABLE',
      message: `Cannot use the journal ${journalFile(dir)}: ${dir} is in use by process ${process.pid}; stop that process, which may be in another container, or choose another directory`,
    });
    journal.accepted(entry('b'));
    await journal.close();
    expect(recovered(await openJournal(dir))).toEqual(['a', 'b']);
  });

  it('one of many that start together gets the journal', async () => {
    await leaveStaleLock();
    const results = await Promise.allSettled(Array.from({ length: 20 }, () => fileJournal(dir)));
    const journals = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    expect(journals).toHaveLength(1);
    await journals[0]!.close();
    expect(readdirSync(dir)).toEqual(['pod-status.journal']);
  });

  it('the lock of a process that was killed is taken over, whatever process has its PID by now', async () => {
    await leaveStaleLock();
    expect(locks()).toHaveLength(1);
    const { logger } = await openJournal(dir);
    expect(logger.lines).toEqual([]);
    expect(locks()).toHaveLength(1);
    expect(existsSync(lockFile())).toBe(false);
  });

  it('the lock is released when the journal cannot be used, and when it is closed', async () => {
    mkdirSync(journalFile(dir));
    await expect(fileJournal(dir)).rejects.toMatchObject({ code: 'JOURNAL_UNUSABLE' });
    expect(locks()).toEqual([]);
  });

  it.skipIf(process.platform === 'win32')(
    'a process that connects and never closes its side does not hold up close()',
    async () => {
      const { journal } = await openJournal(dir);
      const socket = connect({ path: path.join(dir, locks()[0]!), allowHalfOpen: true });
      socket.on('error', () => {});
      await once(socket, 'connect');
      await journal.close();
      expect(locks()).toEqual([]);
      socket.destroy();
    },
  );

  it('refuses the second owner even if the path of the directory is too long for a socket', async () => {
    dir = path.join(dir, 'x'.repeat(120));
    const { journal } = await openJournal(dir);
    await expect(fileJournal(dir)).rejects.toMatchObject({ message: expect.stringContaining('in use') as string });
    expect(locks()).toHaveLength(1);
    await journal.close();
    expect(readdirSync(dir)).toEqual(['pod-status.journal']);
  });
});

describe('what is not a regular file', () => {
  it.skipIf(process.platform === 'win32')(
    'a FIFO as journal is refused by name, and nothing waits for it',
    async () => {
      execFileSync('mkfifo', [journalFile(dir)]);
      await expect(fileJournal(dir)).rejects.toMatchObject({
        code: 'JOURNAL_UNUSABLE',
        message: expect.stringContaining(`${journalFile(dir)} is a FIFO, not a regular file`) as string,
      });
    },
  );

  it('a directory as journal is refused by name', async () => {
    mkdirSync(journalFile(dir));
    await expect(fileJournal(dir)).rejects.toMatchObject({
      message: expect.stringContaining(`${journalFile(dir)} is a directory, not a regular file`) as string,
    });
  });

  it.skipIf(process.platform === 'win32').each([
    ['FIFO', () => execFileSync('mkfifo', [lockFile()])],
    ['regular file', () => writeFileSync(lockFile(), '')],
    ['directory', () => mkdirSync(lockFile())],
  ])('a %s with the name of a lock is ignored, and nothing waits for it', async (_what, create) => {
    create();
    const { logger } = await openJournal(dir);
    expect(logger.lines).toEqual([]);
    expect(existsSync(lockFile())).toBe(true);
  });
});
