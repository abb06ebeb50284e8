import type { Clock } from '../../shared/clock.ts';
import type { Disk } from '../../shared/disk.ts';
import { JournalFile, temporaryOf } from './journal-file.ts';
import { encodeLine, type Slot } from './journal-lines.ts';
import type { LiveEntry, RecordedEntry } from './live-entries.ts';

/** Minimum file size for a compaction. */
const minBytes = 1024 * 1024;
/** The file is compacted when its size exceeds the live lines by this factor. */
const growthFactor = 4;
/** Above this size of live lines, compaction runs in slices: it takes about 1 ms per 100 KiB. */
const sliceMinBytes = 256 * 1024;
/** Statuses copied per turn of the event loop. */
const sliceEntries = 64;
/** Each pass copies the statuses that changed during the previous one. */
const maxPasses = 3;

/** Sizes in bytes: the file, its live lines, the lines to append, and the limit of the file. */
export interface JournalSizes {
  readonly file: number;
  readonly live: number;
  readonly added: number;
  readonly max: number;
}

/** How to compact the file before appending; undefined if no compaction is due. */
export function dueCompaction({ file, live, added, max }: JournalSizes): 'now' | 'in-slices' | undefined {
  if (file + added > max && live + added <= max) return 'now';
  if (file <= minBytes || file <= growthFactor * live) return undefined;
  return live <= sliceMinBytes ? 'now' : 'in-slices';
}

/**
 * A replacement journal file with only the live statuses that fit. It may be filled in several steps
 * while the current file is still written: call `changed` for each pod whose live status changes in
 * the meantime. Every method may throw; call `discard` then.
 */
export class Compaction {
  readonly #disk: Disk;
  readonly #file: string;
  readonly #maxBytes: number;
  readonly #live: ReadonlyMap<string, LiveEntry>;
  readonly #nextSequence: () => number;
  readonly #replacement: JournalFile;
  /** By pod UID. */
  readonly #copies = new Map<string, RecordedEntry>();
  /** Pods whose live status has not been copied yet. */
  readonly #remaining: Set<string>;
  /** Copies that are no longer live. */
  readonly #past: Slot[] = [];

  /** @param live the live statuses by pod UID, now and later */
  constructor(
    { disk, file, maxBytes }: { readonly disk: Disk; readonly file: string; readonly maxBytes: number },
    live: ReadonlyMap<string, LiveEntry>,
    nextSequence: () => number,
  ) {
    this.#disk = disk;
    this.#file = file;
    this.#maxBytes = maxBytes;
    this.#live = live;
    this.#nextSequence = nextSequence;
    const uids = [...live.keys()];
    const isRecorded = (podUID: string): boolean => live.get(podUID)!.slot !== undefined;
    this.#remaining = new Set([...uids.filter(isRecorded), ...uids]);
    this.#replacement = JournalFile.createTemporary(disk, file);
  }

  /** The pod's live status was replaced or removed. */
  changed(podUID: string): void {
    this.#remaining.add(podUID);
  }

  /** Copies all live statuses that have not been copied. */
  copy(): void {
    this.#copyUpTo(Number.POSITIVE_INFINITY);
  }

  /** Copies most of them: yields to the event loop after every few and during the fsync, until `isOutdated` returns true. */
  async copyInSlices(
    clock: Pick<Clock, 'yieldToEventLoop'>,
    shouldSync: boolean,
    isOutdated: () => boolean,
  ): Promise<void> {
    for (let pass = 0; pass < maxPasses && this.#remaining.size > sliceEntries; pass++) {
      for (let left = this.#remaining.size; left > 0; left -= sliceEntries) {
        this.#copyUpTo(sliceEntries);
        await clock.yieldToEventLoop();
        if (isOutdated()) return;
      }
      if (shouldSync) await this.#replacement.syncLater();
      if (isOutdated()) return;
    }
  }

  sync(): void {
    this.#replacement.sync();
  }

  /** Replaces the current file. */
  finish(): { readonly file: JournalFile; readonly copies: Iterable<RecordedEntry>; readonly past: Slot[] } {
    this.#disk.rename(temporaryOf(this.#file), this.#file);
    return { file: this.#replacement, copies: this.#copies.values(), past: this.#past };
  }

  /** Deletes the new file; the current file stays. */
  async discard(): Promise<void> {
    try {
      this.#disk.remove(temporaryOf(this.#file));
    } finally {
      await this.#replacement.close();
    }
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
