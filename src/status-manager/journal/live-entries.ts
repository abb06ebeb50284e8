import type { Slot } from './journal-lines.ts';
import type { JournalEntry } from './journal.ts';

/** A pod's newest, unsettled status. */
export interface LiveEntry {
  readonly entry: JournalEntry;
  /** Its position in the file; undefined while unrecorded. */
  readonly slot: Slot | undefined;
}

/** A live entry recorded in the file. */
export interface RecordedEntry extends LiveEntry {
  readonly slot: Slot;
}

/** The newest, unsettled status of each pod. */
export class LiveEntries {
  readonly #byPodUID = new Map<string, LiveEntry>();
  /** Pods whose entry is not in the file. */
  readonly #unrecorded = new Set<string>();
  #recordedBytes = 0;

  get byPodUID(): ReadonlyMap<string, LiveEntry> {
    return this.#byPodUID;
  }

  /** Bytes of the lines of live entries in the file. */
  get recordedBytes(): number {
    return this.#recordedBytes;
  }

  get unrecordedCount(): number {
    return this.#unrecorded.size;
  }

  isUnrecorded(podUID: string): boolean {
    return this.#unrecorded.has(podUID);
  }

  *unrecorded(): Generator<JournalEntry> {
    for (const podUID of this.#unrecorded) yield this.#byPodUID.get(podUID)!.entry;
  }

  /** @returns the position of the pod's previous entry */
  set(entry: JournalEntry, slot: Slot | undefined): Slot | undefined {
    const before = this.delete(entry.podUID);
    this.#byPodUID.set(entry.podUID, { entry, slot });
    if (slot === undefined) this.#unrecorded.add(entry.podUID);
    else this.#recordedBytes += slot.bytes;
    return before;
  }

  /** @returns the position of the removed entry */
  delete(podUID: string): Slot | undefined {
    const slot = this.#byPodUID.get(podUID)?.slot;
    this.#recordedBytes -= slot?.bytes ?? 0;
    this.#byPodUID.delete(podUID);
    this.#unrecorded.delete(podUID);
    return slot;
  }

  /** The file is gone with all entries. */
  fileLost(): void {
    for (const { entry } of [...this.#byPodUID.values()]) this.set(entry, undefined);
  }

  /** The file was replaced by one with these entries: all recorded ones, and some unrecorded ones. */
  fileReplaced(recorded: Iterable<RecordedEntry>): void {
    this.#recordedBytes = 0;
    for (const { entry, slot } of recorded) {
      this.#byPodUID.set(entry.podUID, { entry, slot });
      this.#unrecorded.delete(entry.podUID);
      this.#recordedBytes += slot.bytes;
    }
  }
}
