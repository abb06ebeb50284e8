import { mkdirSync } from 'node:fs';

/** Creates directories of one name inside one another: deeper than any path is long, as a container can. */
export function nestDirectories(folder: string, name: string, depth: number): void {
  const before = process.cwd();
  try {
    process.chdir(folder);
    for (let i = 0; i < depth; i += 1) {
      mkdirSync(name);
      process.chdir(name);
    }
  } finally {
    process.chdir(before);
  }
}
