import { closeSync, fdatasync, fsyncSync, ftruncateSync, openSync, renameSync, writeSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { type Clock, systemClock, type Timer } from '../clock.ts';
import { refuseOption, requireObject, StatusManagerError } from '../errors.ts';
import { defaultLogger, type Logger } from '../logger.ts';
import { decodeLines, encodeLine, type JournalContent } from './journal-lines.ts';
import type { Journal, JournalEntry } from './journal.ts';

/**
 * When the file is forced onto the disk. A crash of the agent loses nothing under any of them; a
 * crash of the machine loses nothing with `always`, at most about a second with `interval`, and
 * what the operating system had not written with `never`.
 */
export type FsyncPolicy = 'always' | 'interval' | 'never';

/** Options of `fileJournal`. */
export interface FileJournalOptions {
  /** Default `interval`. */
  readonly fsync?: FsyncPolicy | undefined;
  /**
   * The file never grows beyond, but for what an earlier run with a larger bound has left; what does
   * not fit is logged and not kept. 64 KiB or more; default 64 MiB.
   */
  readonly maxBytes?: number | undefined;
  /** Default: pino at level `warn`. */
  readonly logger?: Logger | undefined;
  /** Default: the system clock. */
  readonly clock?: Clock | undefined;
}

const fileName = 'pod-status.journal';
const defaultMaxBytes = 64 * 1024 * 1024;
const minMaxBytes = 64 * 1024;
const fsyncIntervalMs = 1_000;
/** A file smaller than this is not worth compacting. */
const compactionMinBytes = 1024 * 1024;
/** The file is compacted when it has grown to so many times what is in force. */
const compactionFactor = 4;

/**
 * A journal in the file `pod-status.journal` (0600) of `dir`, which is made if need be (0755).
 * A torn or corrupt end of the file, as a crash leaves it, is dropped and logged, and the rest is
 * used. Rejects with a StatusManagerError when the directory cannot be used.
 */
export async function fileJournal(dir: string, options: FileJournalOptions = {}): Promise<Journal> {
  requireObject('options', options);
  const { fsync = 'interval', maxBytes = defaultMaxBytes, logger = defaultLogger(), clock = systemClock } = options;
  if (typeof dir !== 'string' || dir === '') refuseOption('dir', 'a non-empty string', dir);
  if (!['always', 'interval', 'never'].includes(fsync)) refuseOption('fsync', "'always', 'interval' or 'never'", fsync);
  if (!Number.isSafeInteger(maxBytes) || maxBytes < minMaxBytes) {
    refuseOption('maxBytes', `an integer ≥ ${minMaxBytes}`, maxBytes);
  }
  const file = path.join(dir, fileName);
  let content: JournalContent;
  try {
    await mkdir(dir, { recursive: true, mode: 0o755 });
    content = decodeLines(await readFileIfAny(file));
    if (content.lostBytes > 0) {
      logger.warn(
        { file, lostBytes: content.lostBytes },
        'The end of the journal was torn or corrupt and has been dropped',
      );
    }
    return new FileJournal(file, content, { fsync, maxBytes, logger, clock });
  } catch (error) {
    throw new StatusManagerError('JOURNAL_UNUSABLE', `Cannot use the journal ${file}: ${(error as Error).message}`, {
      path: 'dir',
      cause: error,
    });
  }
}

interface Settings {
  readonly fsync: FsyncPolicy;
  readonly maxBytes: number;
  readonly logger: Logger;
  readonly clock: Clock;
}

class FileJournal implements Journal {
  readonly recovered: readonly JournalEntry[];
  readonly #file: string;
  readonly #options: Settings;
  /** What is in force, with the length of its line. */
  readonly #live = new Map<string, { readonly entry: JournalEntry; readonly bytes: number }>();
  #liveBytes = 0;
  /** UIDs of entries in the file that are in force no more, and of which the file does not say so yet. */
  readonly #outdated = new Set<string>();
  #fd: number;
  #fileBytes = 0;
  #isFull = false;
  #fsyncTimer: Timer | undefined;
  #fsyncing: Promise<void> = Promise.resolve();

  constructor(file: string, { entries }: JournalContent, options: Settings) {
    this.#file = file;
    this.#options = options;
    this.recovered = [...entries.values()];
    for (const entry of this.recovered) this.#remember(entry, encodeLine({ accepted: entry }).length);
    this.#fd = this.#rewrite();
  }

  accepted(entry: JournalEntry): void {
    const line = encodeLine({ accepted: entry });
    const { podUID } = entry;
    if (this.#forget(podUID)) this.#outdated.add(podUID);
    if (this.#hasRoom(line.length) && this.#append(line)) {
      this.#outdated.delete(podUID);
      this.#remember(entry, line.length);
    }
    this.#settleOutdated();
  }

  settled(podUID: string): void {
    if (this.#forget(podUID)) this.#outdated.add(podUID);
    this.#settleOutdated();
  }

  async close(): Promise<void> {
    this.#fsyncTimer?.stop();
    await this.#fsyncing;
    if (this.#fd < 0) return;
    this.#attempt('close', () => {
      fsyncSync(this.#fd);
      closeSync(this.#fd);
    });
    this.#fd = -1;
  }

  /** What the file still has, but was replaced or sent: it would be sent again after a crash. */
  #settleOutdated(): void {
    for (const podUID of this.#outdated) {
      const line = encodeLine({ settled: podUID });
      if (!this.#makeRoom(line.length) || !this.#append(line)) return;
      this.#outdated.delete(podUID);
    }
  }

  #hasRoom(lineBytes: number): boolean {
    const wasFull = this.#isFull;
    this.#isFull = !this.#makeRoom(lineBytes);
    if (this.#isFull && !wasFull)
      this.#options.logger.error({ file: this.#file, maxBytes: this.#options.maxBytes }, 'The journal is full');
    return !this.#isFull;
  }

  #remember(entry: JournalEntry, bytes: number): void {
    this.#live.set(entry.podUID, { entry, bytes });
    this.#liveBytes += bytes;
  }

  #forget(podUID: string): boolean {
    this.#liveBytes -= this.#live.get(podUID)?.bytes ?? 0;
    return this.#live.delete(podUID);
  }

  /** Compacts when it is due, or when the line would not fit otherwise. */
  #makeRoom(lineBytes: number): boolean {
    const { maxBytes } = this.#options;
    const isDue = this.#fileBytes > compactionMinBytes && this.#fileBytes > compactionFactor * this.#liveBytes;
    if (isDue || this.#fileBytes + lineBytes > maxBytes) {
      if (this.#liveBytes + lineBytes > maxBytes) return false;
      this.#attempt('compact', () => {
        const old = this.#fd;
        this.#fd = this.#rewrite();
        closeSync(old);
      });
    }
    return this.#fileBytes + lineBytes <= maxBytes;
  }

  /** Writes what is in force to a new file that takes the old one's place at once. Returns its descriptor. */
  #rewrite(): number {
    const temporary = path.join(path.dirname(this.#file), `.${fileName}.tmp`);
    const fd = openSync(temporary, 'w', 0o600);
    let bytes = 0;
    try {
      for (const { entry } of this.#live.values()) bytes += writeWhole(fd, encodeLine({ accepted: entry }));
      if (this.#options.fsync !== 'never') fsyncSync(fd);
      renameSync(temporary, this.#file);
      if (this.#options.fsync !== 'never') syncDirectory(path.dirname(this.#file));
    } catch (error) {
      closeSync(fd);
      throw error;
    }
    this.#fileBytes = bytes;
    this.#outdated.clear();
    return fd;
  }

  #append(line: Buffer): boolean {
    if (this.#fd < 0) return false;
    const isWritten = this.#attempt('write', () => {
      writeWhole(this.#fd, line);
      this.#fileBytes += line.length;
      if (this.#options.fsync === 'always') fsyncSync(this.#fd);
    });
    // Half a line would hide all lines behind it.
    if (!isWritten) this.#attempt('truncate', () => ftruncateSync(this.#fd, this.#fileBytes));
    if (this.#options.fsync === 'interval') this.#armFsync();
    return isWritten;
  }

  #armFsync(): void {
    this.#fsyncTimer ??= this.#options.clock.afterFunc(fsyncIntervalMs, () => {
      this.#fsyncTimer = undefined;
      this.#fsyncing = promisify(fdatasync)(this.#fd).catch((error: unknown) => this.#logFailure('sync', error));
    });
  }

  #attempt(action: string, run: () => void): boolean {
    try {
      run();
      return true;
    } catch (error) {
      this.#logFailure(action, error);
      return false;
    }
  }

  #logFailure(action: string, error: unknown): void {
    this.#options.logger.error(
      { file: this.#file, action, reason: (error as Error).message },
      'The journal cannot be written',
    );
  }
}

/** Without this, a crash of the machine may bring back the file that was there before a rename. */
function syncDirectory(dir: string): void {
  // It opens no directories.
  if (process.platform === 'win32') return;
  const fd = openSync(dir, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

async function readFileIfAny(file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Buffer.alloc(0);
    throw error;
  }
}

function writeWhole(fd: number, bytes: Buffer): number {
  for (let written = 0; written < bytes.length;) written += writeSync(fd, bytes, written);
  return bytes.length;
}
