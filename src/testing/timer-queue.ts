/** A pending timer of a `TimerQueue`. */
export interface QueuedTimer {
  readonly dueMs: number;
  readonly callback: () => void;
}

interface Entry extends QueuedTimer {
  /** Order of creation. */
  readonly sequence: number;
}

/** Timers in the order of their due times and then of their creation, in a binary heap. */
export class TimerQueue {
  #heap: Entry[] = [];
  /** Without those that were removed, which stay in the heap until they are the first or the most. */
  readonly #pending = new Set<QueuedTimer>();
  #sequence = 0;

  get size(): number {
    return this.#pending.size;
  }

  values(): Iterable<QueuedTimer> {
    return this.#pending;
  }

  add(timer: QueuedTimer): QueuedTimer {
    const entry = { ...timer, sequence: this.#sequence++ };
    this.#pending.add(entry);
    this.#push(entry);
    return entry;
  }

  remove(timer: QueuedTimer): void {
    if (!this.#pending.delete(timer) || this.#heap.length <= 2 * this.#pending.size + 16) return;
    const left = this.#heap.filter((entry) => this.#pending.has(entry));
    this.#heap = [];
    for (const entry of left) this.#push(entry);
  }

  /** The first timer; undefined if there is none. */
  first(): QueuedTimer | undefined {
    while (this.#heap.length > 0 && !this.#pending.has(this.#heap[0]!)) this.#removeFirst();
    return this.#heap[0];
  }

  #push(entry: Entry): void {
    const heap = this.#heap;
    let at = heap.push(entry) - 1;
    for (let parent = (at - 1) >> 1; at > 0 && isBefore(entry, heap[parent]!); parent = (at - 1) >> 1) {
      heap[at] = heap[parent]!;
      heap[(at = parent)] = entry;
    }
  }

  #removeFirst(): void {
    const heap = this.#heap;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (child >= heap.length || !isBefore(heap[child]!, last)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
  }
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.sequence < b.sequence);
}
