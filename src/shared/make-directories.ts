import { mkdirSync, statSync } from 'node:fs';
import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/** How folders are made: `node:fs/promises`, or a port that has these functions. */
interface Folders {
  mkdir(path: string, options: { readonly mode: number }): Promise<unknown>;
  stat(path: string): Promise<{ isDirectory(): boolean }>;
}

/**
 * Creates a directory and those above it, as `mkdir -p`; resolves with whether `path` is new. Node's own
 * recursive `mkdir` never ends, and occupies a thread, where a directory exists and refuses a new one
 * with ENOENT: below /proc and /sys.
 */
export async function makeDirectories(path: string, mode = 0o777, files: Folders = { mkdir, stat }): Promise<boolean> {
  try {
    await files.mkdir(path, { mode });
    return true;
  } catch (error) {
    if (await isDirectory(files, path)) return false;
    const parent = dirname(path);
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || parent === path) throw error;
    await makeDirectories(parent, mode, files);
  }
  try {
    await files.mkdir(path, { mode });
    return true;
  } catch (error) {
    // Another call may have created it in the meantime.
    if (await isDirectory(files, path)) return false;
    throw error;
  }
}

/** The same, synchronously: for folders whose disk does not hang. @throws Error */
export function makeDirectoriesSync(path: string, mode = 0o777): void {
  const failure = makeDirectorySync(path, mode);
  if (failure === undefined) return;
  const parent = dirname(path);
  if (failure.code !== 'ENOENT' || parent === path) throw failure;
  makeDirectoriesSync(parent, mode);
  const second = makeDirectorySync(path, mode);
  if (second !== undefined) throw second;
}

/** Why it cannot be created; undefined if it exists afterwards. */
function makeDirectorySync(path: string, mode: number): NodeJS.ErrnoException | undefined {
  try {
    mkdirSync(path, { mode });
    return undefined;
  } catch (error) {
    const exists = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
    return exists ? undefined : (error as NodeJS.ErrnoException);
  }
}

async function isDirectory(files: Folders, path: string): Promise<boolean> {
  return (await files.stat(path).catch(() => undefined))?.isDirectory() === true;
}
