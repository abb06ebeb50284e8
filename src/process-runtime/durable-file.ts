import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs';

/** Writes a JSON file that only the user can read. After a crash, it has either its old content or the complete new one. */
export function writeJSONFile(file: string, value: unknown): void {
  const temporary = `${file}.tmp`;
  const fd = openSync(temporary, 'w', 0o600);
  try {
    // Unlike `writeSync`, it throws if the disk becomes full in the middle.
    writeFileSync(fd, JSON.stringify(value));
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(temporary, file);
}

/** The value in a JSON file, or undefined if the file does not exist. @throws Error with the path of the file */
export function readJSONFile(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new Error(`cannot read ${file}: ${(error as Error).message}`, { cause: error });
  }
}
