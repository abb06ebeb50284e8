import { closeSync, constants, openSync, unlinkSync, writeSync } from 'node:fs';
import { open, unlink } from 'node:fs/promises';
import path from 'node:path';
import type { Journal, JournalEntry } from 'kubelet-status-manager';

const intervalMs = 1_000;
/** Node.js runs so many file operations at a time. */
const threads = 4;
const createNew = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;

interface PodFile {
  readonly file: string;
  /** Files with older statuses, which stay until this one is on the disk. */
  readonly older: readonly string[];
}

/**
 * The alternative to `fileJournal` that is measured: each status is a file of its own, which is synced
 * within an interval; then the pod's older files are removed. A new name for each status makes it
 * cheaper than a rename, which writes the replaced file to the disk. It handles no errors.
 */
export class OneFileAPod implements Journal {
  readonly recovered = [];
  readonly #dir: string;
  readonly #files = new Map<string, PodFile>();
  #unsynced = new Set<string>();
  #syncing: Promise<void> = Promise.resolve();
  readonly #timer: NodeJS.Timeout;
  #count = 0;

  constructor(dir: string) {
    this.#dir = dir;
    this.#timer = setInterval(() => void this.#sync(), intervalMs);
  }

  accepted(entry: JournalEntry): void {
    const { podUID } = entry;
    const file = path.join(this.#dir, `${podUID}.${this.#count++}`);
    const fd = openSync(file, createNew, 0o600);
    writeSync(fd, JSON.stringify(entry));
    closeSync(fd);
    const present = this.#files.get(podUID);
    this.#files.set(podUID, { file, older: present === undefined ? [] : [...present.older, present.file] });
    this.#unsynced.add(podUID);
  }

  settled(podUID: string): void {
    const present = this.#files.get(podUID);
    this.#files.delete(podUID);
    this.#unsynced.delete(podUID);
    for (const file of present === undefined ? [] : [...present.older, present.file]) unlinkSync(file);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#sync();
  }

  #sync(): Promise<void> {
    this.#syncing = this.#syncing.then(async () => {
      const podUIDs = this.#unsynced.values();
      this.#unsynced = new Set();
      await Promise.all(Array.from({ length: threads }, () => this.#syncEach(podUIDs)));
      await syncFile(this.#dir, 'r');
    });
    return this.#syncing;
  }

  async #syncEach(podUIDs: Iterable<string>): Promise<void> {
    for (const podUID of podUIDs) {
      const synced = this.#files.get(podUID);
      if (synced === undefined) continue;
      await ignoreMissing(syncFile(synced.file, 'r+'));
      const present = this.#files.get(podUID);
      if (present !== synced) continue;
      this.#files.set(podUID, { file: synced.file, older: [] });
      for (const file of synced.older) await ignoreMissing(unlink(file));
    }
  }
}

async function syncFile(file: string, flags: string): Promise<void> {
  const handle = await open(file, flags);
  try {
    await handle.datasync();
  } finally {
    await handle.close();
  }
}

/** The status was settled in the meantime. */
async function ignoreMissing(done: Promise<void>): Promise<void> {
  try {
    await done;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
