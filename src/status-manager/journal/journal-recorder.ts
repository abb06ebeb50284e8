import path from 'node:path';
import { Alarm } from '../../shared/alarm.ts';
import type { Clock, Timer } from '../../shared/clock.ts';
import type { Disk } from '../../shared/disk.ts';
import { ExponentialBackOff } from '../../shared/exponential-back-off.ts';
import type { Logger } from '../../shared/logger.ts';
import { timeFromEpochMs } from '../../shared/time.ts';
import { Compaction, dueCompaction } from './compaction.ts';
import type { DirectoryLock } from '../../shared/directory-lock.ts';
import { JournalFile, keepAs } from './journal-file.ts';
import { JournalLog } from './journal-log.ts';
import { encodeLine, type JournalContent, type JournalRecord, type Slot } from './journal-lines.ts';
import type { Journal, JournalEntry, JournalFailure } from './journal.ts';
import { LiveEntries } from './live-entries.ts';
import { OldLines } from './old-lines.ts';

/**
 * When the file is fsynced. A crash of the agent loses nothing under any policy. A crash of the
 * machine loses nothing with `always`, about a second of changes with `interval`, and everything in
 * the page cache with `never`.
 */
export type FsyncPolicy = 'always' | 'interval' | 'never';

export interface JournalSettings {
  readonly file: string;
  readonly fsync: FsyncPolicy;
  readonly maxBytes: number;
  /** Must not throw. */
  readonly logger: Logger;
  readonly clock: Clock;
  readonly disk: Disk;
  /** Released by `close()`. */
  readonly lock: DirectoryLock | undefined;
}

/** Sync and retry interval. */
const intervalMs = 1_000;
/** After compactions that failed: soon, because a full disk often has space again after seconds. */
const compactionBackOff = { firstMs: 1_000, maxMs: 10_000 } as const;
/** While entries are live, it is checked this often whether the file is still in its place; and before each write. */
const placeCheckMs = 60_000;

/**
 * Records the live statuses in the file. A failed write affects only its own status. The pod's older
 * lines are marked past anyway: the newer status may be sent, and a restart must not recover an older
 * one.
 */
export class JournalRecorder implements Journal {
  readonly recovered: readonly JournalEntry[];
  readonly #settings: JournalSettings;
  readonly #log: JournalLog;
  readonly #live = new LiveEntries();
  /** Undefined while no file is writable. */
  #journalFile: JournalFile | undefined;
  #nextSequence: number;
  readonly #oldLines: OldLines;
  /** The last status could not be recorded: also when it has been sent since, the disk may still be full. */
  #isFailing = false;
  /** The file is damaged or shared. */
  #mustReplace = false;
  readonly #compactionDelays = new ExponentialBackOff(compactionBackOff);
  #compactAfterMs = Number.NEGATIVE_INFINITY;
  /** The compaction in progress. */
  #compaction: Compaction | undefined;
  #compacting: Promise<void> | undefined;
  /** Settles when lines have been marked past in slices; the file stays open until then. */
  #marking: Promise<unknown> | undefined;
  #timer: Timer | undefined;
  /** When the file was last seen in its place. */
  #seenMs = 0;
  readonly #placeCheck: Alarm;
  #closing: Promise<void> | undefined;

  /** Throws if there is no file and none can be created. */
  constructor(settings: JournalSettings, content: JournalContent | undefined) {
    this.#settings = settings;
    this.#log = new JournalLog(settings);
    this.#oldLines = new OldLines(settings.clock, content?.past ?? [], (slot) => this.#markPast(slot));
    for (const { entry, slot } of content?.live.values() ?? []) this.#setLive(entry, slot);
    this.recovered = [...this.#live.byPodUID.values()].map(({ entry }) => entry);
    this.#nextSequence = content?.nextSequence ?? 1;
    this.#placeCheck = new Alarm(settings.clock, () => void this.#isUsable());
    this.#open(content);
    this.#isUsable();
  }

  accepted(entry: JournalEntry): void {
    if (!this.#isUsable()) return;
    this.#setLive(entry, undefined);
    this.#record(entry);
    this.#afterWriting();
  }

  settled(podUID: string): void {
    if (!this.#isUsable() || !this.#live.byPodUID.has(podUID)) return;
    this.#liveChanged(podUID, this.#live.delete(podUID));
    this.#oldLines.markAllOf(podUID);
    this.#afterWriting();
  }

  failure(): JournalFailure | undefined {
    return this.#log.failure;
  }

  async close(): Promise<void> {
    if (this.#isUsable()) {
      this.#retryFailed();
      this.#closing = this.#close();
    }
    await this.#closing;
  }

  async #close(): Promise<void> {
    this.#timer?.stop();
    this.#placeCheck.stop();
    await Promise.all([this.#compacting, this.#marking]);
    const file = this.#journalFile;
    this.#try('sync', () => file?.sync());
    await this.#closeFile(file);
    this.#log.closedWithout(this.#live.unrecordedCount, this.#live.unrecorded());
    await this.#settings.lock?.release();
  }

  #open(content: JournalContent | undefined): void {
    const { disk, file, fsync } = this.#settings;
    try {
      this.#journalFile = JournalFile.open(disk, file, content?.endOffset ?? 0);
      this.#mustReplace = this.#journalFile.isShared;
      if (fsync !== 'never') this.#journalFile.sync();
    } catch (error) {
      if (content === undefined && !isDiskFull(error)) throw error;
      this.#log.canOnlyBeRead(error);
    }
    for (const slot of content?.superseded ?? []) this.#oldLines.mark(slot);
    if (content === undefined) this.#syncDirectory();
    else this.#reportLosses(content);
    this.#compactIfDue(0);
  }

  #reportLosses({ incompleteBytes, damage }: JournalContent): void {
    const { disk, file } = this.#settings;
    if (incompleteBytes > 0) this.#log.lineWasIncomplete(incompleteBytes);
    if (damage === undefined) return;
    const savedAs = `${file}.damaged`;
    this.#log.isDamaged(damage, savedAs);
    if (this.#try('keep the damaged file', () => keepAs(disk, file, savedAs))) this.#mustReplace = true;
  }

  /** False if closed. Checks that the file is still in its place. */
  #isUsable(): boolean {
    if (this.#closing === undefined && this.#journalFile !== undefined) this.#checkPlace(this.#journalFile);
    return this.#closing === undefined;
  }

  /** Continues in a new file if this one was renamed or deleted; closes the journal if another has replaced it. */
  #checkPlace(journalFile: JournalFile): void {
    const { clock, disk, file } = this.#settings;
    const nowMs = clock.monotonicMs();
    let isInPlace = true;
    this.#try('check', () => (isInPlace = journalFile.isAt(file)));
    if (isInPlace) {
      this.#seenMs = nowMs;
      if (this.#live.byPodUID.size > 0) this.#placeCheck.arm(placeCheckMs);
      return;
    }
    void this.#closeFile(journalFile);
    this.#journalFile = undefined;
    if (disk.exists(file)) {
      this.#log.wasReplaced();
      this.#closing = this.#close();
      return;
    }
    this.#log.wasMoved(timeFromEpochMs(clock.now() - (nowMs - this.#seenMs)));
    this.#live.fileLost();
    this.#oldLines.reset([]);
    this.#retryFailed();
  }

  #setLive(entry: JournalEntry, slot: Slot | undefined): void {
    this.#liveChanged(entry.podUID, this.#live.set(entry, slot));
  }

  #liveChanged(podUID: string, superseded: Slot | undefined): void {
    this.#compaction?.changed(podUID);
    if (superseded !== undefined) this.#oldLines.supersede(podUID, superseded);
  }

  #record(entry: JournalEntry): void {
    const record = { sequence: this.#nextSequence++, entry };
    const line = encodeLine(record);
    this.#isFailing = false;
    if (this.#compactIfDue(line.length) && !this.#live.isUnrecorded(entry.podUID)) return;
    try {
      this.#setLive(entry, this.#append(line));
    } catch (error) {
      if (this.#overwriteFree(record, line.length)) return;
      this.#oldLines.markAllOf(entry.podUID);
      // The lines of its older statuses are free now.
      if (this.#overwriteFree(record, line.length)) return;
      this.#isFailing = true;
      this.#arm();
      this.#log.cannotRecord(error, this.#live.unrecordedCount, this.#live.unrecorded());
    }
  }

  #append(line: Buffer): Slot {
    const file = this.#journalFile;
    if (file === undefined) throw new Error('no journal file is writable');
    if (file.bytes + line.length > this.#settings.maxBytes) throw new Error('the journal has reached maxBytes');
    return file.append(line);
  }

  /** Needs no space on the disk. */
  #overwriteFree(record: JournalRecord, bytes: number): boolean {
    const file = this.#journalFile;
    if (file === undefined) return false;
    const overwrite = (slot: Slot): boolean =>
      this.#try('overwrite', () => {
        file.overwrite(slot, encodeLine(record, slot.bytes));
        this.#setLive(record.entry, slot);
      });
    return this.#oldLines.useFree(bytes, overwrite);
  }

  /** @returns whether the line is marked past */
  #markPast(slot: Slot): boolean {
    const file = this.#journalFile;
    if (file !== undefined && this.#try('mark', () => file.markPast(slot))) return true;
    this.#arm();
    return false;
  }

  #afterWriting(): void {
    if (this.#live.byPodUID.size > 0) this.#placeCheck.arm(placeCheckMs);
    if (this.#settings.fsync === 'interval') this.#arm();
    else this.#sync();
    this.#onRecovery();
  }

  /**
   * Syncs according to the policy. Older lines are marked past only afterwards: a machine crash must
   * not lose both.
   */
  #sync(): void {
    const { fsync } = this.#settings;
    const file = this.#journalFile;
    const superseded = this.#oldLines.superseded();
    if (fsync === 'interval') {
      const marked = file?.syncLater().then(
        () => {
          this.#log.actionSucceeded('sync');
          return this.#oldLines.markInSlices(superseded);
        },
        (error: unknown) => this.#log.actionFailed('sync', error),
      );
      this.#marking = Promise.all([this.#marking, marked]);
    } else if (fsync === 'never' || this.#try('sync', () => file?.sync())) {
      this.#marking = Promise.all([this.#marking, this.#oldLines.markInSlices(superseded)]);
    }
  }

  #onRecovery(): void {
    const recordsAll = this.#live.unrecordedCount === 0 && this.#oldLines.areAllMarked;
    if (recordsAll && !this.#isFailing) this.#log.recordsAll();
  }

  /** Arms the timer for the next sync (policy `interval`) and the next retry. */
  #arm(): void {
    if (this.#closing !== undefined) return;
    this.#timer ??= this.#settings.clock.afterFunc(intervalMs, () => {
      this.#timer = undefined;
      if (!this.#isUsable()) return;
      this.#retryFailed();
      this.#sync();
      this.#onRecovery();
    });
  }

  #retryFailed(): void {
    this.#oldLines.retry();
    // A compaction may record several of them.
    for (const entry of [...this.#live.unrecorded()]) if (this.#live.isUnrecorded(entry.podUID)) this.#record(entry);
  }

  /** Compacts the file if due before `bytes` are written. @returns whether the file was replaced */
  #compactIfDue(bytes: number): boolean {
    if (this.#settings.clock.monotonicMs() < this.#compactAfterMs) return false;
    const file = this.#journalFile;
    if (file === undefined || this.#mustReplace) return this.#compact();
    const { maxBytes } = this.#settings;
    const due = dueCompaction({ file: file.bytes, live: this.#live.recordedBytes, added: bytes, max: maxBytes });
    if (due === undefined) return false;
    if (due === 'now') return this.#compact();
    this.#compacting ??= this.#compactInSlices().finally(() => (this.#compacting = undefined));
    return false;
  }

  /** Replaces the file with one that has only the live statuses that fit. @returns whether it was replaced */
  #compact(): boolean {
    let compaction: Compaction | undefined;
    const isReplaced = this.#try('compact', () => {
      compaction = this.#newCompaction();
      this.#finish(compaction);
    });
    if (!isReplaced) void this.#giveUp(compaction);
    return isReplaced;
  }

  /**
   * Like `#compact`, but does not block the event loop: the current file is written as usual until it
   * is replaced. Never rejects.
   */
  async #compactInSlices(): Promise<void> {
    const { clock, fsync } = this.#settings;
    const present = this.#journalFile;
    const isOutdated = (): boolean => !this.#isUsable() || this.#journalFile !== present;
    try {
      const compaction = this.#newCompaction();
      this.#compaction = compaction;
      await compaction.copyInSlices(clock, fsync !== 'never', isOutdated);
      if (isOutdated()) await compaction.discard();
      else this.#finish(compaction);
      this.#log.actionSucceeded('compact');
    } catch (error) {
      this.#log.actionFailed('compact', error);
      await this.#giveUp(this.#compaction);
    } finally {
      this.#compaction = undefined;
    }
  }

  #newCompaction(): Compaction {
    return new Compaction(this.#settings, this.#live.byPodUID, () => this.#nextSequence++);
  }

  /** Critical section: copies the rest and switches to the new file. */
  #finish(compaction: Compaction): void {
    compaction.copy();
    if (this.#settings.fsync !== 'never') compaction.sync();
    const old = this.#journalFile;
    const { file, copies, past } = compaction.finish();
    this.#compaction = undefined;
    this.#journalFile = file;
    this.#compactionDelays.reset();
    void this.#closeFile(old);
    this.#live.fileReplaced(copies);
    this.#oldLines.reset(past);
    this.#mustReplace = false;
    this.#syncDirectory();
  }

  /** Keeps the current file. */
  async #giveUp(compaction: Compaction | undefined): Promise<void> {
    this.#compactAfterMs = this.#settings.clock.monotonicMs() + this.#compactionDelays.next();
    try {
      await compaction?.discard();
    } catch (error) {
      this.#log.actionFailed('discard the new file', error);
    }
  }

  #syncDirectory(): void {
    const { disk, file, fsync } = this.#settings;
    if (fsync !== 'never') this.#try('sync the directory', () => disk.syncDirectory(path.dirname(file)));
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
    } catch (error) {
      this.#log.actionFailed(action, error);
      return false;
    }
    this.#log.actionSucceeded(action);
    return true;
  }
}

function isDiskFull(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOSPC' || code === 'EDQUOT';
}
