import { setImmediate as timersSetImmediate } from 'node:timers';
import type { Clock, Timer } from '../shared/clock.ts';

/** A test that installs fake timers replaces the global later; the module's own stays real. */
const realSetImmediate = timersSetImmediate;

/**
 * A clock that only the test advances. Timers fire inside `advance`, in the order of their due times
 * and then of their creation.
 *
 * It can be combined with the fake timers of vitest, Jest and node:test. They are independent: fake
 * timers replace the globals, this clock only drives the objects that it is passed to.
 * Source: k8s.io/utils/clock/testing `FakeClock`.
 *
 * @example
 * ```ts
 * import { StatusManager } from 'kubelet-status-manager';
 * import { FakeClock, FakePodClient } from 'kubelet-status-manager/testing';
 *
 * const clock = new FakeClock('2026-01-02T03:04:05Z');
 * const client = new FakePodClient([pod], { clock });
 * const manager = new StatusManager({ client, podCouldHaveRunningContainers: () => false, clock });
 * manager.start();
 * await clock.advanceAsync(10_000); // fires the timers of these 10 s
 * ```
 */
export class FakeClock implements Clock {
  #wallMs: number;
  #monotonicMs = 0;
  readonly #timers = new TimerQueue();

  /** @param start the initial wall time; default 2000-01-01T00:00:00Z */
  constructor(start: number | string | Date = '2000-01-01T00:00:00Z') {
    this.#wallMs = epochMs('start', start);
  }

  now(): number {
    return this.#wallMs;
  }

  /** `now()` as a `Date`, for the times of a status. */
  date(): Date {
    return new Date(this.#wallMs);
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  /** As with `setTimeout`, a timer fires after whole milliseconds: a fraction is rounded up. */
  afterFunc(delayMs: number, callback: () => void): Timer {
    const timer = this.#timers.add({ dueMs: this.#monotonicMs + (delayMs > 0 ? Math.ceil(delayMs) : 0), callback });
    return { stop: () => this.#timers.remove(timer) };
  }

  /**
   * Runs everything that is already scheduled on the event loop, even with fake timers; the time does
   * not advance.
   */
  yieldToEventLoop(): Promise<void> {
    return new Promise((resolve) => realSetImmediate(resolve));
  }

  /** Number of timers that are due now and fire at the next `advance(0)`. */
  get dueTimers(): number {
    if (this.#nextDue(this.#monotonicMs) === undefined) return 0;
    return [...this.#timers.values()].filter(({ dueMs }) => dueMs <= this.#monotonicMs).length;
  }

  /** Timers that have been set and have neither fired nor been stopped. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  /** Advances both clocks by `ms`, and fires the timers that become due, each at its own time. */
  advance(ms: number): void {
    const targetMs = this.#monotonicMs + duration(ms);
    for (let timer = this.#nextDue(targetMs); timer !== undefined; timer = this.#nextDue(targetMs)) {
      this.#moveTo(Math.max(timer.dueMs, this.#monotonicMs));
      this.#timers.remove(timer);
      timer.callback();
    }
    // A timer callback may have advanced the clock further.
    this.#moveTo(Math.max(targetMs, this.#monotonicMs));
  }

  /**
   * Like `advance`, but awaits `turn` before, between and after the timers, so that asynchronous code
   * runs between them.
   * @param turn default one turn of the event loop, which is sufficient for a `FakePodClient`. With
   *   HTTP, pass `() => settle(manager, server)`.
   */
  async advanceAsync(ms: number, turn: () => Promise<void> = () => this.yieldToEventLoop()): Promise<void> {
    const targetMs = this.#monotonicMs + duration(ms);
    await turn();
    for (let timer = this.#nextDue(targetMs); timer !== undefined; timer = this.#nextDue(targetMs)) {
      this.advance(Math.max(0, timer.dueMs - this.#monotonicMs));
      await turn();
    }
    this.#moveTo(Math.max(targetMs, this.#monotonicMs));
    await turn();
  }

  /** Sets only the wall clock, as NTP or an operator does; timers and durations are not affected. */
  setWallTime(time: number | string | Date): void {
    this.#wallMs = epochMs('time', time);
  }

  #nextDue(untilMs: number): QueuedTimer | undefined {
    const first = this.#timers.first();
    return first !== undefined && first.dueMs <= untilMs ? first : undefined;
  }

  #moveTo(monotonicMs: number): void {
    this.#wallMs += monotonicMs - this.#monotonicMs;
    this.#monotonicMs = monotonicMs;
  }
}

function epochMs(name: string, time: number | string | Date): number {
  const ms = new Date(time).getTime();
  if (Number.isNaN(ms)) throw new RangeError(`Expected \`${name}\` to be a time, got ${String(time)}`);
  return ms;
}

function duration(ms: number): number {
  if (!(ms >= 0 && ms < Number.POSITIVE_INFINITY)) throw new RangeError(`Expected \`ms\` to be a duration, got ${ms}`);
  return ms;
}

/** A pending timer of a `TimerQueue`. */
interface QueuedTimer {
  readonly dueMs: number;
  readonly callback: () => void;
}

interface Entry extends QueuedTimer {
  /** Order of creation. */
  readonly sequence: number;
}

/** Timers in the order of their due times and then of their creation, in a binary heap. */
class TimerQueue {
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
