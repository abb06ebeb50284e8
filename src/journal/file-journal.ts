import {
  closeSync,
  existsSync,
  fdatasync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Clock, Timer } from '../clock.ts';
import { refuseOption, requireObject, StatusManagerError } from '../errors.ts';
import type { ClockLike } from '../guarded-clock.ts';
import type { Logger } from '../logger.ts';
import { resolveClock, resolveLogger } from '../ports.ts';
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
   * The file never grows beyond this, though an earlier run with a larger bound may have left more.
   * A status that does not fit is logged and not kept. 64 KiB or more; default 64 MiB.
   */
  readonly maxBytes?: number | undefined;
  /** Default: pino at level `warn`. */
  readonly logger?: Partial<Logger> | undefined;
  /** Default: the system clock. */
  readonly clock?: ClockLike | undefined;
}

const fileName = 'pod-status.journal';
const defaultMaxBytes = 64 * 1024 * 1024;
const minMaxBytes = 64 * 1024;
const fsyncIntervalMs = 1_000;
const retryMs = 1_000;
/** A file smaller than this is not worth compacting. */
const compactionMinBytes = 1024 * 1024;
/** The file is compacted when it has grown to so many times what is in force. */
const compactionFactor = 4;

/**
 * A journal in the file `pod-status.journal` (0600) of `dir`, which is made if need be (0755). A
 * directory each: where two managers share one, or an agent starts before the one in front of it
 * has ended, the file belongs to the last that opened it, and the others say so and keep nothing more.
 * A torn or corrupt end of the file, as a crash leaves it, is dropped and logged, and the rest is
 * used. Rejects with a StatusManagerError when the directory cannot be used.
 */
export async function fileJournal(dir: string, options: FileJournalOptions = {}): Promise<Journal> {
  requireObject('options', options);
  const { fsync = 'interval', maxBytes = defaultMaxBytes } = options;
  const logger = resolveLogger(options.logger);
  const clock = resolveClock(options.clock, logger);
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

/**
 * The file says what is in force, line by line. A write that fails is made good by writing all of it
 * anew; until that works the file is empty, for an older status must never come back.
 */
class FileJournal implements Journal {
  readonly recovered: readonly JournalEntry[];
  readonly #file: string;
  readonly #options: Settings;
  /** What is in force, with the length of its line. */
  readonly #live = new Map<string, { readonly entry: JournalEntry; readonly bytes: number }>();
  #liveBytes = 0;
  #fd: number;
  #fileBytes = 0;
  #isFull = false;
  #failureLoggedMs = Number.NEGATIVE_INFINITY;
  #isClosed = false;
  /** Runs when nothing can be written: the file is empty, and will be written anew. */
  #retryTimer: Timer | undefined;
  #fsyncTimer: Timer | undefined;
  /** The syncs under way; their descriptors stay open. */
  #fsyncing: Promise<unknown> = Promise.resolve();

  constructor(file: string, { entries }: JournalContent, options: Settings) {
    this.#file = file;
    this.#options = options;
    this.recovered = [...entries.values()];
    for (const entry of this.recovered) this.#remember(entry, encodeLine({ accepted: entry }).length);
    this.#fd = this.#rewrite();
  }

  accepted(entry: JournalEntry): void {
    if (!this.#isUsable()) return;
    const { podUID } = entry;
    const line = encodeLine({ accepted: entry });
    const wasKept = this.#forget(podUID);
    const wasFull = this.#isFull;
    this.#isFull = this.#liveBytes + line.length > this.#options.maxBytes;
    if (!this.#isFull) {
      this.#remember(entry, line.length);
      this.#write(line);
      return;
    }
    if (!wasFull)
      this.#options.logger.error({ file: this.#file, maxBytes: this.#options.maxBytes }, 'The journal is full');
    // The older status must not come back in place of one that may be sent.
    if (wasKept) this.#write(encodeLine({ settled: podUID }));
  }

  settled(podUID: string): void {
    if (this.#isUsable() && this.#forget(podUID)) this.#write(encodeLine({ settled: podUID }));
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#fsyncTimer?.stop();
    this.#retryTimer?.stop();
    await this.#fsyncing;
    if (this.#retryTimer !== undefined && !this.#isReplaced()) this.#compact();
    this.#attempt('close', () => {
      fsyncSync(this.#fd);
      closeSync(this.#fd);
    });
  }

  #isUsable(): boolean {
    if (!this.#isClosed && this.#isReplaced()) this.#giveUp();
    return !this.#isClosed;
  }

  /** Another journal has put a file of its own in the place of ours. */
  #isReplaced(): boolean {
    return this.#isRemoved() && existsSync(this.#file);
  }

  #isRemoved(): boolean {
    return fstatSync(this.#fd).nlink === 0;
  }

  #giveUp(): void {
    this.#options.logger.error({ file: this.#file }, 'Another journal has taken over the file; nothing more is kept');
    void this.close();
  }

  #remember(entry: JournalEntry, bytes: number): void {
    this.#live.set(entry.podUID, { entry, bytes });
    this.#liveBytes += bytes;
  }

  #forget(podUID: string): boolean {
    this.#liveBytes -= this.#live.get(podUID)?.bytes ?? 0;
    return this.#live.delete(podUID);
  }

  /** Brings the file in line with what is in force: by this line, or by writing all of it anew. */
  #write(line: Buffer): void {
    const isOversized = this.#fileBytes > compactionMinBytes && this.#fileBytes > compactionFactor * this.#liveBytes;
    const fits = this.#fileBytes + line.length <= this.#options.maxBytes;
    // After a failure not at once again: a full disk stays full for a while.
    if (this.#retryTimer !== undefined) return;
    const isAppended = fits && !isOversized && !this.#isRemoved() && this.#attempt('write', () => this.#append(line));
    if (!isAppended) this.#writeAnew();
    else if (this.#options.fsync === 'interval') this.#armFsync();
  }

  #append(line: Buffer): void {
    this.#fileBytes += writeWhole(this.#fd, line);
    if (this.#options.fsync === 'always') fsyncSync(this.#fd);
  }

  #compact(): boolean {
    return this.#attempt('compact', () => {
      const old = this.#fd;
      this.#fd = this.#rewrite();
      void this.#fsyncing.then(() => this.#attempt('close', () => closeSync(old)));
    });
  }

  /** To a new file or, on a full disk, where the file itself was; later again while neither works. */
  #writeAnew(): void {
    if (this.#compact() || this.#attempt('write anew', () => this.#rewriteInPlace())) return;
    this.#attempt('empty', () => ftruncateSync(this.#fd));
    this.#retryTimer = this.#options.clock.afterFunc(retryMs, () => {
      this.#retryTimer = undefined;
      if (this.#isUsable()) this.#writeAnew();
    });
  }

  /** Writes what is in force to a new file that takes the old one's place at once. Returns its descriptor. */
  #rewrite(): number {
    const temporary = path.join(path.dirname(this.#file), `.${fileName}.tmp`);
    rmSync(temporary, { force: true });
    // Neither follows a link nor takes over the mode of what another has put there.
    const fd = openSync(temporary, 'ax', 0o600);
    let bytes = 0;
    try {
      bytes = this.#writeLive(fd);
      renameSync(temporary, this.#file);
    } catch (error) {
      closeSync(fd);
      rmSync(temporary, { force: true });
      throw error;
    }
    if (this.#options.fsync !== 'never')
      this.#attempt('sync the directory', () => syncDirectory(path.dirname(this.#file)));
    this.#fileBytes = bytes;
    return fd;
  }

  #rewriteInPlace(): void {
    ftruncateSync(this.#fd);
    this.#fileBytes = this.#writeLive(this.#fd);
  }

  /** @returns how many bytes that took */
  #writeLive(fd: number): number {
    let bytes = 0;
    for (const { entry } of this.#live.values()) bytes += writeWhole(fd, encodeLine({ accepted: entry }));
    if (this.#options.fsync !== 'never') fsyncSync(fd);
    return bytes;
  }

  #armFsync(): void {
    this.#fsyncTimer ??= this.#options.clock.afterFunc(fsyncIntervalMs, () => {
      this.#fsyncTimer = undefined;
      const sync = promisify(fdatasync)(this.#fd).catch((error: unknown) => this.#logFailure('sync', error));
      this.#fsyncing = Promise.all([this.#fsyncing, sync]);
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

  /** Once a second at most: on a full disk every update fails. */
  #logFailure(action: string, error: unknown): void {
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs < this.#failureLoggedMs + retryMs) return;
    this.#failureLoggedMs = nowMs;
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
