import type { Clock } from '../../shared/clock.ts';
import type { Slot } from './journal-lines.ts';

/** A line of an older status. */
export interface OldLine {
  readonly podUID: string;
  readonly slot: Slot;
}

/** So many lines are marked in one turn of the event loop. */
const sliceLines = 256;

/**
 * The lines of a journal file that do not count any more. They are **superseded** until those that
 * replace them have been synced, and then marked past. A line marked past is **free**: it can be
 * overwritten when nothing can be appended.
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

  /** Marks all superseded lines of the pod, without a sync before that. */
  markAllOf(podUID: string): void {
    const slots = this.#superseded.get(podUID) ?? [];
    this.#superseded.delete(podUID);
    for (const slot of slots) this.mark(slot);
  }

  /** Marks those of these lines that are still superseded; other work has a turn after every few of them. Never rejects. */
  async markInSlices(lines: readonly OldLine[]): Promise<void> {
    for (const [i, { podUID, slot }] of lines.entries()) {
      if (i > 0 && i % sliceLines === 0) await this.#clock.yieldToEventLoop();
      const slots = this.#superseded.get(podUID);
      if (slots?.delete(slot) !== true) continue;
      if (slots.size === 0) this.#superseded.delete(podUID);
      this.mark(slot);
    }
  }

  /** Tries again to mark the lines that could not be marked. */
  retry(): void {
    for (const slot of this.#unmarked.splice(0)) this.mark(slot);
  }

  /** A free line of at least so many bytes, which is not free any more when `use` returns true. */
  useFree(bytes: number, use: (slot: Slot) => boolean): boolean {
    const index = this.#free.findIndex((slot) => slot.bytes >= bytes);
    const slot = this.#free[index];
    if (slot === undefined || !use(slot)) return false;
    this.#free.splice(index, 1);
    return true;
  }

  /** The file was replaced by one with these free lines. */
  reset(free: Slot[]): void {
    this.#superseded.clear();
    this.#unmarked = [];
    this.#free = free;
  }
}
