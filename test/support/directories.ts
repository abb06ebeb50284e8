import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** Temporary directories for a test. */
export class TestDirectories {
  readonly #created: string[] = [];

  create(): string {
    const dir = mkdtempSync(path.join(tmpdir(), 'test-'));
    this.#created.push(dir);
    return dir;
  }

  /** What a process would find that starts after a crash of the one that uses the directory: its files, but no lock. */
  afterCrash(dir: string): string {
    const copy = this.create();
    cpSync(dir, copy, { recursive: true, filter: (name) => !path.basename(name).startsWith('pod-status.lock') });
    return copy;
  }

  removeAll(): void {
    for (const dir of this.#created.splice(0)) rmSync(dir, { recursive: true, force: true });
  }
}
