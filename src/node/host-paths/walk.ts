import type { BigIntStats } from 'node:fs';
import { codeOf, undefinedIfMissing } from './error-code.ts';
import type { EntryName, HostDirectory } from './host-directory.ts';

/** Directories that stay open on the way down. Below them, only the innermost one is open. */
const maxOpenDirectories = 32;
/** Names of directories that are still to be walked: some tens of megabytes at most. */
const maxPendingDirectories = 100_000;

interface Level {
  /** Undefined if it was closed because it is deep; `..` opens it again. */
  directory: HostDirectory | undefined;
  readonly stats: BigIntStats;
  /** Directories in it that have not been walked. */
  readonly pending: EntryName[];
}

export interface WalkOptions {
  /** Directories that are pending at a time. */
  readonly maxPending?: number;
  /** Paths that are not touched: mount points, because what is mounted there may never respond. Default: none. */
  readonly without?: readonly string[];
}

/**
 * Visits everything below a directory, each directory before what is in it, at any depth. Follows no link, and stays on the
 * file system of the directory. Entries that are removed or moved in the meantime may be left out; all others are visited.
 * Resolves with false if so many directories lie side by side that some have not been walked.
 *
 * Memory and open descriptors are bounded, whatever a container has created. Source: Go `filepath.Walk`.
 */
export async function walk(
  root: HostDirectory,
  visit: (directory: HostDirectory, name: EntryName, stats: BigIntStats) => Promise<void> | void,
  { maxPending = maxPendingDirectories, without = [] }: WalkOptions = {},
): Promise<boolean> {
  const untouched = new Set(without);
  const levels: Level[] = [];
  let pendingCount = 0;
  let isComplete = true;

  async function enter(directory: HostDirectory, ownStats: BigIntStats): Promise<void> {
    const level: Level = { directory, stats: ownStats, pending: [] };
    levels.push(level);
    const path = untouched.size === 0 ? '' : await directory.ownPath().catch(() => '');
    for await (const { name } of readableEntries(directory)) {
      if (untouched.has(`${path}/${name.toString()}`)) continue;
      const stats = await directory.stats(name).catch(undefinedIfUnreachable);
      if (stats === undefined || stats.dev !== level.stats.dev) continue;
      try {
        await visit(directory, name, stats);
      } catch (error) {
        undefinedIfMissing(error);
        continue;
      }
      if (!stats.isDirectory()) continue;
      if (pendingCount === maxPending) {
        isComplete = false;
        continue;
      }
      level.pending.push(name);
      pendingCount += 1;
    }
  }

  async function leave(): Promise<void> {
    const directory = levels.pop()!.directory!;
    const level = levels.at(-1);
    // The caller closes the root.
    if (level === undefined) return;
    await directory.closedAfter(async () => {
      if (level.directory !== undefined) return;
      const parent = await directory.parent().catch(undefinedIfUnreachable);
      level.directory = parent && (await sameDirectory(parent, level.stats));
      // It was moved or removed. The walk goes on in the innermost directory that is open.
      while (levels.at(-1)!.directory === undefined) pendingCount -= levels.pop()!.pending.length;
    });
  }

  try {
    await enter(root, await root.ownStats());
    for (let level = levels[0]; level !== undefined; level = levels.at(-1)) {
      const name = level.pending.pop();
      if (name === undefined) {
        await leave();
        continue;
      }
      pendingCount -= 1;
      const child = await level.directory!.child(name).catch(undefinedIfUnreachable);
      if (child === undefined) continue;
      if (levels.length > maxOpenDirectories) {
        await level.directory!.close();
        level.directory = undefined;
      }
      await enter(child, await child.closedOnError(() => child.ownStats()));
    }
  } finally {
    for (const { directory } of levels) if (directory !== root) await directory?.close();
  }
  return isComplete;
}

/** The directory if it has these stats; otherwise it is closed. */
async function sameDirectory(directory: HostDirectory, { dev, ino }: BigIntStats): Promise<HostDirectory | undefined> {
  const stats = await directory.closedOnError(() => directory.ownStats());
  if (stats.dev === dev && stats.ino === ino) return directory;
  await directory.close();
  return undefined;
}

/** Nothing if this process may not read the directory. */
async function* readableEntries(directory: HostDirectory): ReturnType<HostDirectory['entries']> {
  try {
    yield* directory.entries();
  } catch (error) {
    undefinedIfUnreachable(error);
  }
}

/** Rethrows all errors, except for entries that were removed or replaced, or that this process may not read. */
function undefinedIfUnreachable(error: unknown): undefined {
  if (!['ENOENT', 'ENOTDIR', 'EACCES'].includes(codeOf(error) ?? '')) throw error;
}
