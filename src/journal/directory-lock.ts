import { createHash, randomBytes } from 'node:crypto';
import { lstatSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Clock } from '../clock.ts';

/** Another process, or this one, holds the lock. */
export class DirectoryInUseError extends Error {}

export interface DirectoryLock {
  release(): Promise<void>;
}

type LockClock = Pick<Clock, 'afterFunc' | 'yieldToEventLoop'>;

const lockPrefix = 'pod-status.lock.';
/** The path of a socket has 103 bytes at most on macOS and 107 on Linux. */
const maxAddressBytes = 100;
const replyTimeoutMs = 1_000;
const maxReplyLength = 100;
const maxAttempts = 1_000;

/**
 * Locks a directory for one owner at a time, in any process or container that sees it, until
 * `release()` or the end of the process.
 *
 * A lock is a Unix domain socket on which its owner listens. The kernel refuses a connection to a
 * socket on which no process listens, which tells a lock that a crash or a reboot has left behind
 * from one that is held, whatever process has the owner's PID by then. Each candidate first listens
 * on a socket of its own and then looks for others, so that of two candidates at least one sees the
 * other. A candidate that sees no other becomes the owner.
 *
 * Rejects with a `DirectoryInUseError`, or with the error of the file system when it has no room,
 * no permission or no support for sockets.
 */
export async function lockDirectory(dir: string, clock: LockClock): Promise<DirectoryLock> {
  if (process.platform === 'win32') return lockByPipe(dir);
  const { address, remove } = shortAddressOf(dir);
  try {
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const candidate = await Candidate.start(address);
      const result = await compete(candidate, address, clock);
      if (result === 'won') return { release: () => candidate.release(dir) };
      await candidate.release(dir);
      if (result !== 'retry') throw new DirectoryInUseError(`${dir} is in use by ${result.owner}`);
      await clock.yieldToEventLoop();
    }
    throw new DirectoryInUseError(`${dir} is being locked by too many processes`);
  } finally {
    remove();
  }
}

/** A socket in the directory, which replies with the PID and whether this process owns the lock. */
class Candidate {
  readonly name: string;
  isOwner = false;
  readonly #server: Server;

  private constructor(name: string, server: Server) {
    this.name = name;
    this.#server = server;
  }

  static async start(address: string): Promise<Candidate> {
    const name = `${lockPrefix}${randomBytes(4).toString('hex')}`;
    const server = createServer((socket) => {
      socket.on('error', () => {});
      // A peer that does not close its side must not hold up release().
      socket.end(`${candidate.isOwner ? 'owner' : 'candidate'} ${process.pid}`, () => socket.destroy());
    });
    const candidate = new Candidate(name, server);
    await listen(server, path.join(address, name));
    return candidate;
  }

  async release(dir: string): Promise<void> {
    rmSync(path.join(dir, this.name), { force: true });
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}

/** Competes with other candidates: the one with the lowest name stays, the others try again. */
async function compete(
  candidate: Candidate,
  address: string,
  clock: LockClock,
): Promise<'won' | 'retry' | { readonly owner: string }> {
  for (;;) {
    const names = readdirSync(address).filter((name) => name.startsWith(lockPrefix) && name !== candidate.name);
    const abandoned: string[] = [];
    let isAlone = true;
    for (const name of names) {
      const file = path.join(address, name);
      if (lstatSync(file, { throwIfNoEntry: false })?.isSocket() !== true) continue;
      const reply = await ask(file, clock);
      if (reply === undefined) abandoned.push(file);
      else if (!reply.startsWith('candidate ')) return { owner: reply.replace('owner', 'process') };
      else if (name < candidate.name) return 'retry';
      else isAlone = false;
    }
    if (isAlone) {
      candidate.isOwner = true;
      for (const file of abandoned) rmSync(file, { force: true });
      return 'won';
    }
    await clock.yieldToEventLoop();
  }
}

/** Resolves with the reply of the process that listens on a socket; undefined when none does. */
function ask(file: string, clock: LockClock): Promise<string | undefined> {
  return new Promise((resolve) => {
    let reply = '';
    const socket = connect(file);
    const timer = clock.afterFunc(replyTimeoutMs, () => socket.destroy());
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => {
      reply += text;
      if (reply.length > maxReplyLength) socket.destroy();
    });
    socket.on('error', ({ code }: NodeJS.ErrnoException) => {
      if (code === 'ECONNREFUSED' || code === 'ENOENT') resolve(undefined);
    });
    socket.on('close', () => {
      timer.stop();
      resolve(/^(?:owner|candidate) \d+$/.test(reply) ? reply : 'another process');
    });
  });
}

function listen(server: Server, address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.unref();
    // It stays: an error while listening must not end the process.
    server.on('error', reject);
    server.listen(address, () => resolve());
  });
}

/** On Windows a named pipe disappears with its process. */
async function lockByPipe(dir: string): Promise<DirectoryLock> {
  const name = createHash('sha256').update(realpathSync(dir)).digest('hex');
  const server = createServer((socket) => socket.destroy());
  try {
    await listen(server, `\\\\.\\pipe\\kubelet-status-manager-${name}`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    throw new DirectoryInUseError(`${dir} is in use by another process`);
  }
  return { release: () => new Promise((resolve) => server.close(() => resolve())) };
}

/** A path to the directory that is short enough for sockets: Node.js 20 and 22 cut off a longer one without an error. */
function shortAddressOf(dir: string): { readonly address: string; readonly remove: () => void } {
  const nameBytes = lockPrefix.length + 9;
  if (Buffer.byteLength(dir) + nameBytes <= maxAddressBytes) return { address: dir, remove: () => {} };
  const aliasDir = mkdtempSync(path.join(tmpdir(), 'ksm-'));
  const address = path.join(aliasDir, 'd');
  symlinkSync(path.resolve(dir), address);
  return { address, remove: () => rmSync(aliasDir, { recursive: true, force: true }) };
}
