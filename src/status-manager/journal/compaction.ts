import { JournalFile } from './journal-file.ts';
import { encodeLine, type Slot } from './journal-lines.ts';
import type { JournalEntry } from './journal.ts';

/** A pod's newest status that is not settled. */
export interface LiveEntry {
  readonly entry: JournalEntry;
  /** Where it is in the file; undefined while it is not recorded. */
  readonly slot: Slot | undefined;
}

interface Copy {
  readonly entry: JournalEntry;
  readonly slot: Slot;
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
  readonly #copies = new Map<string, Copy>();
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

  get remaining(): number {
    return this.#remaining.size;
  }

  /** The pod has another live status now, or none. */
  changed(podUID: string): void {
    this.#remaining.add(podUID);
  }

  /** Copies the live statuses of up to `limit` pods. */
  copy(limit = Number.POSITIVE_INFINITY): void {
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

  sync(): void {
    this.#replacement.sync();
  }

  syncLater(): Promise<void> {
    return this.#replacement.syncLater();
  }

  /** Replaces the present file. */
  finish(): { readonly file: JournalFile; readonly copies: Iterable<Copy>; readonly past: Slot[] } {
    this.#replacement.renameTemporary(this.#file);
    return { file: this.#replacement, copies: this.#copies.values(), past: this.#past };
  }

  /** The present file stays. */
  async discard(): Promise<void> {
    JournalFile.removeTemporary(this.#file);
    await this.#replacement.close();
  }

  #markPast(podUID: string): void {
    const copy = this.#copies.get(podUID);
    if (copy === undefined) return;
    this.#replacement.markPast(copy.slot);
    this.#copies.delete(podUID);
    this.#past.push(copy.slot);
  }
}
