import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** Directories for a test. */
export class TestDirectories {
  readonly #created: string[] = [];

  create(): string {
    const dir = mkdtempSync(path.join(tmpdir(), 'test-'));
    this.#created.push(dir);
    return dir;
  }

  /** What a process finds there that starts after the one that uses it was killed now: the files, and no lock. */
  afterCrash(dir: string): string {
    const copy = this.create();
    cpSync(dir, copy, { recursive: true, filter: (name) => !path.basename(name).startsWith('pod-status.lock') });
    return copy;
  }

  removeAll(): void {
    for (const dir of this.#created.splice(0)) rmSync(dir, { recursive: true, force: true });
  }
}
