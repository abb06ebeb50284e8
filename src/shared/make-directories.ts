import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Creates a directory and those above it, as `mkdir -p`; resolves with whether `path` is new. Node's own
 * recursive `mkdir` never ends, and occupies a thread, where a directory exists and refuses a new one
 * with ENOENT: below /proc and /sys.
 */
export async function makeDirectories(path: string, mode = 0o777): Promise<boolean> {
  try {
    await mkdir(path, { mode });
    return true;
  } catch (error) {
    if (await isDirectory(path)) return false;
    const parent = dirname(path);
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || parent === path) throw error;
    await makeDirectories(parent, mode);
  }
  try {
    await mkdir(path, { mode });
    return true;
  } catch (error) {
    // Another call may have created it in the meantime.
    if (await isDirectory(path)) return false;
    throw error;
  }
}

async function isDirectory(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() === true;
}
