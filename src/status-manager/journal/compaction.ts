import type { Clock } from '../../shared/clock.ts';
import { JournalFile } from './journal-file.ts';
import { encodeLine, type Slot } from './journal-lines.ts';
import type { LiveEntry, RecordedEntry } from './live-entries.ts';

/** A file smaller than this is not worth compacting. */
const minBytes = 1024 * 1024;
/** The file is compacted when it has grown to so many times its live lines. */
const growthFactor = 4;
/** With more bytes of live lines, the file is compacted in slices: it takes about 1 ms for 100 KiB. */
const sliceMinBytes = 256 * 1024;
/** So many statuses are copied in one turn of the event loop. */
const sliceEntries = 64;
/** What has changed during one pass is copied by the next one. */
const maxPasses = 3;

/** Sizes in bytes: of the file and its live lines, what is to be appended, and the bound of the file. */
export interface JournalSizes {
  readonly file: number;
  readonly live: number;
  readonly added: number;
  readonly max: number;
}

/** How the file is to be compacted before lines are appended; undefined when it need not be. */
export function dueCompaction({ file, live, added, max }: JournalSizes): 'now' | 'in-slices' | undefined {
  if (file + added > max && live + added <= max) return 'now';
  if (file <= minBytes || file <= growthFactor * live) return undefined;
  return live <= sliceMinBytes ? 'now' : 'in-slices';
}

/**
 * A new journal file with the live statuses only, as far as they fit, that is to replace the present
 * one. It may be filled in several steps while the present file is written: call `changed` for each
 * pod whose live status has changed in the meantime. Every method may throw; then `discard` it.
 */
export class Compaction {
  readonly #file: string;
  readonly #maxBytes: number;
  readonly #live: ReadonlyMap<string, LiveEntry>;
  readonly #nextSequence: () => number;
  readonly #replacement: JournalFile;
  /** By pod UID. */
  readonly #copies = new Map<string, RecordedEntry>();
  /** Pods whose live status is still to be copied. */
  readonly #remaining: Set<string>;
  /** Copies that are not live any more. */
  readonly #past: Slot[] = [];

  /** @param live the live statuses by pod UID, now and later */
  constructor(file: string, maxBytes: number, live: ReadonlyMap<string, LiveEntry>, nextSequence: () => number) {
    this.#file = file;
    this.#maxBytes = maxBytes;
    this.#live = live;
    this.#nextSequence = nextSequence;
    const uids = [...live.keys()];
    const isRecorded = (podUID: string): boolean => live.get(podUID)!.slot !== undefined;
    this.#remaining = new Set([...uids.filter(isRecorded), ...uids]);
    this.#replacement = JournalFile.createTemporary(file);
  }

  /** The pod has another live status now, or none. */
  changed(podUID: string): void {
    this.#remaining.add(podUID);
  }

  /** Copies all live statuses. */
  copy(): void {
    this.#copyUpTo(Number.POSITIVE_INFINITY);
  }

  /**
   * As `copy`, but other work has a turn after every few statuses, and while they are synced.
   * @returns false as soon as `isOutdated` does: what is copied is not needed any more
   */
  async copyInSlices(
    clock: Pick<Clock, 'yieldToEventLoop'>,
    shouldSync: boolean,
    isOutdated: () => boolean,
  ): Promise<boolean> {
    for (let pass = 0; pass < maxPasses && this.#remaining.size > sliceEntries; pass++) {
      for (let left = this.#remaining.size; left > 0; left -= sliceEntries) {
        this.#copyUpTo(sliceEntries);
        await clock.yieldToEventLoop();
        if (isOutdated()) return false;
      }
      if (shouldSync) await this.#replacement.syncLater();
      if (isOutdated()) return false;
    }
    this.copy();
    return true;
  }

  sync(): void {
    this.#replacement.sync();
  }

  /** Replaces the present file. */
  finish(): { readonly file: JournalFile; readonly copies: Iterable<RecordedEntry>; readonly past: Slot[] } {
    this.#replacement.renameTemporary(this.#file);
    return { file: this.#replacement, copies: this.#copies.values(), past: this.#past };
  }

  /** The present file stays. */
  async discard(): Promise<void> {
    JournalFile.removeTemporary(this.#file);
    await this.#replacement.close();
  }

  #copyUpTo(limit: number): void {
    const lines: Buffer[] = [];
    let offset = this.#replacement.bytes;
    let count = 0;
    for (const podUID of this.#remaining) {
      if (count++ >= limit) break;
      this.#remaining.delete(podUID);
      this.#markPast(podUID);
      const live = this.#live.get(podUID);
      if (live === undefined) continue;
      const line = encodeLine({ sequence: this.#nextSequence(), entry: live.entry });
      if (live.slot === undefined && offset + line.length > this.#maxBytes) continue;
      this.#copies.set(podUID, { entry: live.entry, slot: { offset, bytes: line.length } });
      lines.push(line);
      offset += line.length;
    }
    this.#replacement.append(Buffer.concat(lines));
  }

  #markPast(podUID: string): void {
    const copy = this.#copies.get(podUID);
    if (copy === undefined) return;
    this.#replacement.markPast(copy.slot);
    this.#copies.delete(podUID);
    this.#past.push(copy.slot);
  }
}
