import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** As `mkdir -p`. Node's own recursive `mkdir` never ends below /proc, where a directory refuses a new one with ENOENT. */
export function makeDirectories(path: string, mode = 0o777): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return;
    const parent = dirname(path);
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || parent === path) throw error;
    makeDirectories(parent, mode);
    mkdirSync(path, { mode });
  }
}
