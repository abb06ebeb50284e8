import { createHash, randomBytes } from 'node:crypto';
import { lstatSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Clock } from './clock.ts';

/** Another process, or this one, holds the lock. */
export class DirectoryInUseError extends Error {}

export interface DirectoryLock {
  release(): Promise<void>;
}

const lockPrefix = 'pod-status.lock.';
const nameBytes = `${lockPrefix}ffffffff.4194304`.length;
/** Maximum length of a socket path: 103 bytes on macOS, 107 on Linux. */
const maxAddressBytes = 103;
/** Never reached: a candidate with a higher name sees this one and withdraws long before. */
const maxRounds = 1_000;

/**
 * Locks a directory for one owner at a time, in any process or container that sees it, until
 * `release()` or the end of the process.
 *
 * A lock is a Unix domain socket on which its owner listens. The kernel refuses connections to a
 * socket without a listener. This distinguishes a stale lock, left by a crash or reboot, from one that
 * is held, even if the owner's PID has been reused.
 *
 * Each candidate first listens on its own socket and then looks for others, so that of two candidates
 * at least one sees the other. A candidate that sees no other becomes the owner. If several start
 * together, all but the one with the lowest name withdraw.
 *
 * Rejects with a `DirectoryInUseError`, or with a file system error: no space, no permission, or no
 * support for sockets.
 */
export async function lockDirectory(dir: string, clock: Pick<Clock, 'yieldToEventLoop'>): Promise<DirectoryLock> {
  if (process.platform === 'win32') return lockByPipe(dir);
  const { address, remove } = shortAddressOf(dir);
  try {
    const name = `${lockPrefix}${randomBytes(4).toString('hex')}.${process.pid}`;
    const server = await listen(path.join(address, name));
    const release = (): Promise<void> => {
      rmSync(path.join(dir, name), { force: true });
      return close(server);
    };
    const owner = await findOwner(address, name, clock);
    if (owner === undefined) return { release };
    await release();
    throw inUse(dir, `process ${owner.split('.').at(-1)}`);
  } finally {
    remove();
  }
}

function inUse(dir: string, owner: string): DirectoryInUseError {
  return new DirectoryInUseError(
    `${dir} is in use by ${owner}; stop that process, which may be in another container, or choose another directory`,
  );
}

/** The socket that prevents this candidate from becoming the owner; undefined if none does. */
async function findOwner(
  address: string,
  ownName: string,
  clock: Pick<Clock, 'yieldToEventLoop'>,
): Promise<string | undefined> {
  for (let round = 1; ; round++) {
    const live: string[] = [];
    const abandoned: string[] = [];
    for (const name of readdirSync(address)) {
      if (!name.startsWith(lockPrefix) || name === ownName || !isSocket(path.join(address, name))) continue;
      const isLive = await isListenedOn(path.join(address, name));
      (isLive ? live : abandoned).push(name);
    }
    const [owner] = live;
    if (owner === undefined) {
      for (const name of abandoned) rmSync(path.join(address, name), { force: true });
      return undefined;
    }
    if (round === maxRounds || live.some((name) => name < ownName)) return owner;
    await clock.yieldToEventLoop();
  }
}

function isSocket(file: string): boolean {
  return lstatSync(file, { throwIfNoEntry: false })?.isSocket() === true;
}

/** The kernel accepts the connection, so a hanging process counts as the owner too. */
function isListenedOn(file: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(file, () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code !== 'ECONNREFUSED' && code !== 'ENOENT'));
  });
}

function listen(address: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy()).unref();
    // Never removed: an error while listening must not crash the process.
    server.on('error', reject);
    server.listen(address, () => resolve(server));
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}

/** On Windows a named pipe disappears with its process. */
async function lockByPipe(dir: string): Promise<DirectoryLock> {
  const name = createHash('sha256').update(realpathSync(dir)).digest('hex');
  try {
    const server = await listen(`\\\\.\\pipe\\kubelet-status-manager-${name}`);
    return { release: () => close(server) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    throw inUse(dir, 'another process');
  }
}

/** A path to the directory that is short enough for sockets: Node.js 20 and 22 cut off a longer one without an error. */
function shortAddressOf(dir: string): { readonly address: string; readonly remove: () => void } {
  if (Buffer.byteLength(dir) + 1 + nameBytes <= maxAddressBytes) return { address: dir, remove: () => {} };
  const aliasDir = mkdtempSync(path.join(tmpdir(), 'ksm-'));
  const address = path.join(aliasDir, 'd');
  symlinkSync(path.resolve(dir), address);
  return { address, remove: () => rmSync(aliasDir, { recursive: true, force: true }) };
}
