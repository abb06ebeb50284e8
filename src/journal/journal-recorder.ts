import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Clock, Timer } from '../clock.ts';
import type { Logger } from '../logger.ts';
import type { DirectoryLock } from './directory-lock.ts';
import { JournalFile, syncDirectory } from './journal-file.ts';
import { JournalLog } from './journal-log.ts';
import { encodeLine, type JournalContent, type JournalRecord, type Slot } from './journal-lines.ts';
import type { Journal, JournalEntry } from './journal.ts';

/**
 * When the file is forced onto the disk. A crash of the agent loses nothing under any of them; a
 * crash of the machine loses nothing with `always`, at most about a second with `interval`, and
 * what the operating system had not written with `never`.
 */
export type FsyncPolicy = 'always' | 'interval' | 'never';

export interface JournalSettings {
  readonly file: string;
  readonly fsync: FsyncPolicy;
  readonly maxBytes: number;
  /** Must not throw. */
  readonly logger: Logger;
  readonly clock: Clock;
  /** Released by `close()`. */
  readonly lock: DirectoryLock | undefined;
}

/** A pod's newest status that is not settled. */
interface LiveEntry {
  readonly entry: JournalEntry;
  /** Where it is in the file; undefined while it is not recorded. */
  readonly slot: Slot | undefined;
}

const fsyncIntervalMs = 1_000;
const retryMs = 1_000;
const compactionRetryMs = 60_000;
/** A file smaller than this is not worth compacting. */
const compactionMinBytes = 1024 * 1024;
/** The file is compacted when it has grown to so many times its live lines. */
const compactionFactor = 4;

/**
 * Records the live statuses in the file. A write that fails affects the status that it was for and
 * no other. The pod's older line is marked past all the same: the newer status may be sent, and an
 * older one must not come back after it.
 */
export class JournalRecorder implements Journal {
  readonly recovered: readonly JournalEntry[];
  readonly #settings: JournalSettings;
  readonly #log: JournalLog;
  readonly #live = new Map<string, LiveEntry>();
  /** Pods whose live status is not in the file. */
  readonly #unrecorded = new Set<string>();
  /** Bytes of the live lines in the file. */
  #liveBytes = 0;
  /** Undefined while the file can only be read. */
  #journalFile: JournalFile | undefined;
  /** The file has been deleted or replaced, as seen before the last write. */
  #isRemoved = false;
  #nextSequence: number;
  /** Lines marked past. They are overwritten when nothing can be appended. */
  #free: Slot[];
  /** Lines to be marked past when those that replace them have been synced. */
  #superseded: Slot[] = [];
  /** Lines that could not be marked past. */
  #unmarked: Slot[] = [];
  /** The name under which to keep the damaged file when it is replaced. */
  #damagedName: string | undefined;
  #compactAfterMs = Number.NEGATIVE_INFINITY;
  #isFailing = false;
  #isClosed = false;
  #retryTimer: Timer | undefined;
  #fsyncTimer: Timer | undefined;

  /** Throws when there is no file and none can be created. */
  constructor(settings: JournalSettings, content: JournalContent | undefined) {
    this.#settings = settings;
    this.#log = new JournalLog(settings.file, settings.logger, settings.clock);
    for (const { entry, slot } of content?.live.values() ?? []) this.#setLive(entry, slot);
    this.recovered = [...this.#live.values()].map(({ entry }) => entry);
    this.#free = [...(content?.past ?? [])];
    this.#nextSequence = content?.nextSequence ?? 1;
    this.#open(content);
  }

  accepted(entry: JournalEntry): void {
    if (!this.#isUsable()) return;
    const previous = this.#live.get(entry.podUID)?.slot;
    this.#setLive(entry, undefined);
    this.#record(entry, previous);
    this.#afterWriting();
  }

  settled(podUID: string): void {
    if (!this.#isUsable()) return;
    const slot = this.#live.get(podUID)?.slot;
    this.#removeLive(podUID);
    if (slot === undefined) return;
    this.#markPast(slot);
    this.#afterWriting();
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#fsyncTimer?.stop();
    this.#retryTimer?.stop();
    this.#retryTimer = undefined;
    if (!this.#isReplaced()) this.#writeUnwritten();
    const file = this.#journalFile;
    if (file !== undefined) {
      await file.synced();
      this.#try('sync', () => file.sync());
      this.#markSuperseded();
      await this.#closeFile(file);
    }
    this.#log.closedWithout(this.#unrecordedEntries());
    await this.#settings.lock?.release();
  }

  #open(content: JournalContent | undefined): void {
    const { file, fsync } = this.#settings;
    try {
      this.#journalFile = JournalFile.open(file, content?.endOffset ?? 0);
      if (fsync !== 'never') this.#journalFile.sync();
    } catch (error) {
      if (content === undefined && !isDiskFull(error)) throw error;
      this.#log.canOnlyBeRead(error);
    }
    for (const slot of content?.superseded ?? []) this.#markPast(slot);
    if (content === undefined) this.#syncDirectory();
    else this.#reportLosses(content);
    if (this.#journalFile?.isShared === true || this.#mustCompact(0)) this.#compact();
  }

  #reportLosses({ incompleteBytes, damage }: JournalContent): void {
    if (incompleteBytes > 0) this.#log.lineWasIncomplete(incompleteBytes);
    if (damage === undefined) return;
    this.#damagedName = `${this.#settings.file}.damaged`;
    this.#log.isDamaged(damage, this.#damagedName);
  }

  #isUsable(): boolean {
    if (!this.#isClosed && this.#isReplaced()) {
      this.#log.wasReplaced();
      void this.close();
    }
    return !this.#isClosed;
  }

  #isReplaced(): boolean {
    this.#isRemoved = this.#journalFile?.isRemoved === true;
    return this.#isRemoved && existsSync(this.#settings.file);
  }

  #setLive(entry: JournalEntry, slot: Slot | undefined): void {
    this.#removeLive(entry.podUID);
    this.#live.set(entry.podUID, { entry, slot });
    if (slot === undefined) this.#unrecorded.add(entry.podUID);
    else this.#liveBytes += slot.bytes;
  }

  #removeLive(podUID: string): void {
    this.#liveBytes -= this.#live.get(podUID)?.slot?.bytes ?? 0;
    this.#live.delete(podUID);
    this.#unrecorded.delete(podUID);
  }

  #unrecordedEntries(): readonly JournalEntry[] {
    return [...this.#unrecorded].map((podUID) => this.#live.get(podUID)!.entry);
  }

  /** @param previous the line of the pod's older status */
  #record(entry: JournalEntry, previous: Slot | undefined): void {
    const record = { sequence: this.#nextSequence++, entry };
    const line = encodeLine(record);
    if (this.#mustCompact(line.length) && this.#compact()) {
      if (!this.#unrecorded.has(entry.podUID)) return;
      // It is not in the new file.
      previous = undefined;
    }
    try {
      this.#setLive(entry, this.#append(line));
      if (previous !== undefined) this.#superseded.push(previous);
    } catch (error) {
      if (previous !== undefined) this.#markPast(previous);
      if (this.#overwriteFree(record, line.length)) return;
      this.#isFailing = true;
      this.#log.cannotRecord(() => this.#unrecordedEntries(), error);
    }
  }

  #append(line: Buffer): Slot {
    const file = this.#journalFile;
    if (file === undefined || this.#isRemoved) throw new Error('there is no file that can be written');
    if (file.bytes + line.length > this.#settings.maxBytes) throw new Error('the journal has reached maxBytes');
    return file.append(line);
  }

  /** Needs no space on the disk. */
  #overwriteFree(record: JournalRecord, bytes: number): boolean {
    const file = this.#journalFile;
    const index = this.#free.findIndex((slot) => slot.bytes >= bytes);
    const slot = this.#free[index];
    if (file === undefined || this.#isRemoved || slot === undefined) return false;
    return this.#try('overwrite', () => {
      file.overwrite(slot, encodeLine(record, slot.bytes));
      this.#free.splice(index, 1);
      this.#setLive(record.entry, slot);
    });
  }

  #markPast(slot: Slot): void {
    const file = this.#journalFile;
    const isMarked = file !== undefined && this.#try('mark', () => file.markPast(slot));
    (isMarked ? this.#free : this.#unmarked).push(slot);
  }

  #markSuperseded(): void {
    for (const slot of this.#superseded.splice(0)) this.#markPast(slot);
  }

  /** Syncs by policy. Older lines are marked past only after that: a crash of the machine must not lose both. */
  #afterWriting(): void {
    const { fsync } = this.#settings;
    if (fsync === 'interval') this.#armFsync();
    else {
      const isSynced = fsync === 'never' || this.#try('sync', () => this.#journalFile?.sync());
      if (isSynced) this.#markSuperseded();
    }
    if (this.#unrecorded.size > 0 || this.#unmarked.length > 0) this.#armRetry();
    else if (this.#isFailing) {
      this.#isFailing = false;
      this.#log.recordsAgain();
    }
  }

  #armFsync(): void {
    this.#fsyncTimer ??= this.#settings.clock.afterFunc(fsyncIntervalMs, () => {
      this.#fsyncTimer = undefined;
      const file = this.#journalFile;
      const superseded = this.#superseded.splice(0);
      file?.syncLater().then(
        () => {
          if (file === this.#journalFile) for (const slot of superseded) this.#markPast(slot);
        },
        (error: unknown) => {
          if (file === this.#journalFile) this.#superseded.push(...superseded);
          this.#log.actionFailed('sync', error);
        },
      );
    });
  }

  #armRetry(): void {
    if (this.#isClosed) return;
    this.#retryTimer ??= this.#settings.clock.afterFunc(retryMs, () => {
      this.#retryTimer = undefined;
      if (!this.#isUsable()) return;
      this.#writeUnwritten();
      this.#afterWriting();
    });
  }

  #writeUnwritten(): void {
    for (const slot of this.#unmarked.splice(0)) this.#markPast(slot);
    for (const podUID of [...this.#unrecorded]) {
      const live = this.#live.get(podUID);
      if (live !== undefined && live.slot === undefined) this.#record(live.entry, undefined);
    }
  }

  #mustCompact(bytes: number): boolean {
    if (this.#settings.clock.monotonicMs() < this.#compactAfterMs) return false;
    const file = this.#journalFile;
    if (file === undefined || this.#isRemoved || this.#damagedName !== undefined) return true;
    const { maxBytes } = this.#settings;
    if (file.bytes + bytes > maxBytes && this.#liveBytes + bytes <= maxBytes) return true;
    return file.bytes > compactionMinBytes && file.bytes > compactionFactor * this.#liveBytes;
  }

  /** Replaces the file by one that holds the live statuses only, as far as they fit. @returns whether it is replaced */
  #compact(): boolean {
    const { file, fsync, maxBytes, clock } = this.#settings;
    const recorded = [...this.#live.values()].filter(({ slot }) => slot !== undefined);
    const unrecorded = [...this.#live.values()].filter(({ slot }) => slot === undefined);
    const entries: JournalEntry[] = [];
    const lines: Buffer[] = [];
    let bytes = 0;
    for (const { entry, slot } of [...recorded, ...unrecorded]) {
      const line = encodeLine({ sequence: this.#nextSequence++, entry });
      if (slot === undefined && bytes + line.length > maxBytes) continue;
      entries.push(entry);
      lines.push(line);
      bytes += line.length;
    }
    const isReplaced = this.#try('compact', () => {
      const old = this.#journalFile;
      const { file: compacted, slots } = JournalFile.replace(file, lines, fsync !== 'never', this.#damagedName);
      this.#journalFile = compacted;
      this.#isRemoved = false;
      void this.#closeFile(old);
      this.#free = [];
      this.#superseded = [];
      this.#unmarked = [];
      this.#damagedName = undefined;
      for (const [i, entry] of entries.entries()) this.#setLive(entry, slots[i]);
    });
    if (!isReplaced) this.#compactAfterMs = clock.monotonicMs() + compactionRetryMs;
    else this.#syncDirectory();
    return isReplaced;
  }

  #syncDirectory(): void {
    const { file, fsync } = this.#settings;
    if (fsync !== 'never') this.#try('sync the directory', () => syncDirectory(path.dirname(file)));
  }

  async #closeFile(file: JournalFile | undefined): Promise<void> {
    try {
      await file?.close();
    } catch (error) {
      this.#log.actionFailed('close', error);
    }
  }

  #try(action: string, run: () => void): boolean {
    try {
      run();
      return true;
    } catch (error) {
      this.#log.actionFailed(action, error);
      return false;
    }
  }
}

function isDiskFull(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOSPC' || code === 'EDQUOT';
}
