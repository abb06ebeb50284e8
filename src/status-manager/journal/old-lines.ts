import type { Clock } from '../../shared/clock.ts';
import type { Slot } from './journal-lines.ts';

/** A line of an older status. */
export interface OldLine {
  readonly podUID: string;
  readonly slot: Slot;
}

/** Lines marked per turn of the event loop. */
const sliceLines = 256;

/**
 * Obsolete lines of a journal file. They are **superseded** until their replacements have been synced,
 * then marked past. A line marked past is **free**: it can be overwritten when the file cannot grow.
 */
export class OldLines {
  readonly #clock: Clock;
  readonly #markPast: (slot: Slot) => boolean;
  /** By pod UID. */
  readonly #superseded = new Map<string, Set<Slot>>();
  /** Lines that could not be marked past. */
  #unmarked: Slot[] = [];
  #free: Slot[];

  /** @param markPast returns whether it succeeded */
  constructor(clock: Clock, free: readonly Slot[], markPast: (slot: Slot) => boolean) {
    this.#clock = clock;
    this.#free = [...free];
    this.#markPast = markPast;
  }

  get areAllMarked(): boolean {
    return this.#unmarked.length === 0;
  }

  supersede(podUID: string, slot: Slot): void {
    const slots = this.#superseded.get(podUID) ?? new Set();
    this.#superseded.set(podUID, slots.add(slot));
  }

  superseded(): OldLine[] {
    return Array.from(this.#superseded, ([podUID, slots]) => Array.from(slots, (slot) => ({ podUID, slot }))).flat();
  }

  mark(slot: Slot): void {
    (this.#markPast(slot) ? this.#free : this.#unmarked).push(slot);
  }

  /** Marks all superseded lines of the pod without a prior sync. */
  markAllOf(podUID: string): void {
    const slots = this.#superseded.get(podUID) ?? [];
    this.#superseded.delete(podUID);
    for (const slot of slots) this.mark(slot);
  }

  /**
   * Marks those of these lines that are still superseded; yields to the event loop after every few
   * lines. Never rejects.
   */
  async markInSlices(lines: readonly OldLine[]): Promise<void> {
    for (const [i, { podUID, slot }] of lines.entries()) {
      if (i > 0 && i % sliceLines === 0) await this.#clock.yieldToEventLoop();
      const slots = this.#superseded.get(podUID);
      if (slots?.delete(slot) !== true) continue;
      if (slots.size === 0) this.#superseded.delete(podUID);
      this.mark(slot);
    }
  }

  /** Retries the lines that could not be marked. */
  retry(): void {
    for (const slot of this.#unmarked.splice(0)) this.mark(slot);
  }

  /** Calls `use` with a free line of at least `bytes`; if it returns true, the line is no longer free. */
  useFree(bytes: number, use: (slot: Slot) => boolean): boolean {
    const index = this.#free.findIndex((slot) => slot.bytes >= bytes);
    const slot = this.#free[index];
    if (slot === undefined || !use(slot)) return false;
    this.#free.splice(index, 1);
    return true;
  }

  /** The file was replaced; these are its free lines. */
  reset(free: Slot[]): void {
    this.#superseded.clear();
    this.#unmarked = [];
    this.#free = free;
  }
}
