import { createHash, type Hash } from 'node:crypto';
import type { Timer } from '../../src/shared/clock.ts';
import type { Entropy } from '../../src/shared/entropy.ts';
import { Random } from '../chaos/random.ts';
import { OutsideWorld } from './outside-world.ts';

/** A guarantee that was broken. */
export interface Violation {
  readonly invariant: string;
  readonly details: string;
  readonly atMs: number;
}

/** How large a world is. A seed decides what is not given. */
export interface WorldSize {
  readonly pods: number;
  /** How many times longer all pauses of users and pods are. */
  readonly pace: number;
  /** For how long there are users and faults; settling takes additional time. */
  readonly forMs: number;
}

export interface WorldOptions {
  readonly size?: Partial<WorldSize> | undefined;
  /** Keeps the history as text. */
  readonly trace?: boolean | undefined;
  /** Of what need not happen, only this does: see `World.happens`. Default: all. */
  readonly only?: ReadonlySet<string> | undefined;
}

interface Event {
  readonly atMs: number;
  /** Decides between events of the same time. */
  readonly tieBreak: number;
  readonly order: number;
  run: (() => void) | undefined;
}

/** Times are multiples of this, a power of two: sums and differences of such times are exact. */
const tickMs = 1 / 1024;
/** Events in one turn of the real event loop, which only garbage collection needs. */
const eventsPerTurn = 2_000;
const maxEventsAtOneTime = 20_000;
const maxEvents = 2_000_000;
const maxViolations = 20;
const bufferedCharacters = 1 << 16;

/** Runs all continuations that are ready. Not public, but a turn of the event loop for each event would take as long as the event. */
const runReady = (process as unknown as { readonly _tickCallback: () => void })._tickCallback;

/**
 * One queue of events, one clock, one source of randomness and one hash of all that happens. The same seed gives the same
 * history. Everything that a setting does runs inside of events.
 */
export class World {
  readonly seed: string;
  readonly size: WorldSize;
  /** For the setting; each user of randomness takes a fork of its own. */
  readonly random: Random;
  /** For UIDs and tokens. */
  readonly entropy: Entropy;
  readonly violations: Violation[] = [];
  /** The labels of all that a run may leave out, in order. */
  readonly happened: string[] = [];
  /** How often what was done, by kind: faults, users' actions, outcomes. */
  readonly counts: Record<string, number> = {};
  /** The history, if it is kept. */
  readonly history: string[] | undefined;
  /** The epoch time at the start. */
  readonly startEpochMs: number;
  events = 0;
  #nowMs = 0;
  #order = 0;
  #eventsAtThisTime = 0;
  readonly #queue: Event[] = [];
  readonly #ties: Random;
  readonly #only: ReadonlySet<string> | undefined;
  readonly #labels = new Map<string, number>();
  readonly #hash: Hash = createHash('sha256');
  readonly #outside: OutsideWorld;
  #buffer = '';

  constructor(seed: string, options: WorldOptions = {}) {
    this.seed = seed;
    this.random = new Random(seed);
    this.#ties = this.random.fork('ties');
    this.#only = options.only;
    this.history = options.trace === true ? [] : undefined;
    const sizes = this.random.fork('size');
    this.size = {
      pods: options.size?.pods ?? sizes.pick([1, 2, 2, 3, 5, 8, 10]),
      pace: options.size?.pace ?? sizes.pick([1, 3, 3, 10]),
      forMs: options.size?.forMs ?? sizes.pick([10_000, 30_000, 30_000, 60_000, 90_000]),
    };
    this.startEpochMs = Date.UTC(2026, 0, 2, 3, 4, 5) + sizes.integer(0, 86_400_000);
    this.entropy = entropyOf(this.random.fork('entropy'));
    this.#outside = new OutsideWorld(this, (what) => this.violate('nothing reaches outside of the simulation', what));
  }

  /** Milliseconds since the start. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** Calls `run` after `delayMs`. Events of the same time happen in an order that the seed decides. */
  at(delayMs: number, run: () => void): Timer {
    const atMs = Math.ceil((this.#nowMs + Math.max(0, delayMs)) / tickMs) * tickMs;
    const event: Event = { atMs, tieBreak: this.#ties.next(), order: this.#order++, run };
    push(this.#queue, event);
    return { stop: () => void (event.run = undefined) };
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => void this.at(ms, resolve));
  }

  /** Waits until `problem` returns undefined; otherwise, after `withinMs`, this is a violation. */
  async until(invariant: string, withinMs: number, problem: () => string | undefined, everyMs = 500): Promise<boolean> {
    const endMs = this.#nowMs + withinMs;
    for (;;) {
      const found = problem();
      if (found === undefined) return true;
      if (this.#nowMs >= endMs) {
        this.violate(invariant, found);
        return false;
      }
      await this.sleep(Math.min(everyMs, endMs - this.#nowMs + tickMs));
    }
  }

  /**
   * Whether something that need not happen does: a fault, an action of a user. Each call with the same label counts one up.
   * A failing seed is made smaller by leaving such events out.
   */
  happens(label: string): boolean {
    const count = (this.#labels.get(label) ?? 0) + 1;
    this.#labels.set(label, count);
    const name = `${label} ${count}`;
    if (this.#only?.has(name) === false) return false;
    this.happened.push(name);
    return true;
  }

  count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }

  /** One line of the history: who, what, and details, which become JSON. */
  note(who: string, what: string, ...details: readonly unknown[]): void {
    let line = `${this.#nowMs.toFixed(3)} ${who} ${what}`;
    for (const detail of details) line += ` ${typeof detail === 'string' ? detail : JSON.stringify(detail)}`;
    this.history?.push(line);
    this.#buffer += `${line}\n`;
    if (this.#buffer.length > bufferedCharacters) this.#flush();
  }

  violate(invariant: string, details: string): void {
    this.note('world', 'VIOLATION', invariant, details);
    if (this.violations.length < maxViolations) this.violations.push({ invariant, details, atMs: this.#nowMs });
  }

  /** Runs `live` and all events until it has ended. @returns the hash of the history */
  async run(live: () => Promise<void>): Promise<string> {
    let isOver = false;
    const end = (): void => void (isOver = true);
    this.at(0, () => {
      live().then(end, (error: unknown) => {
        this.violate(
          'the simulation itself runs',
          error instanceof Error ? (error.stack ?? error.message) : String(error),
        );
        end();
      });
    });
    this.#outside.close();
    try {
      while (!isOver) {
        await new Promise<void>((resolve) => {
          this.#outside.setImmediate(() => {
            for (let i = 0; i < eventsPerTurn && !isOver; i++) if (!this.#step()) isOver = true;
            resolve();
          });
        });
      }
    } finally {
      this.#outside.open();
    }
    this.#flush();
    return this.#hash.digest('hex');
  }

  /** @returns false when there is nothing left to run, or too much */
  #step(): boolean {
    const event = pop(this.#queue);
    if (event === undefined) {
      this.violate('the simulation itself runs', 'nothing is left to happen');
      return false;
    }
    if (event.run === undefined) return true;
    this.#eventsAtThisTime = event.atMs === this.#nowMs ? this.#eventsAtThisTime + 1 : 0;
    this.#nowMs = event.atMs;
    if (this.#eventsAtThisTime > maxEventsAtOneTime || ++this.events > maxEvents) {
      this.violate(
        'work is bounded',
        `${this.#eventsAtThisTime} events at one time, ${this.events} in all: ${event.run.toString().slice(0, 200)}`,
      );
      return false;
    }
    this.#outside.enter();
    try {
      event.run();
      runReady();
    } catch (error) {
      this.violate('nothing is thrown out of an event', (error as Error).stack ?? String(error));
    } finally {
      this.#outside.leave();
    }
    return true;
  }

  #flush(): void {
    this.#hash.update(this.#buffer);
    this.#buffer = '';
  }
}

function entropyOf(random: Random): Entropy {
  const bytes = (count: number): Buffer => Buffer.from(Array.from({ length: count }, () => random.integer(0, 255)));
  return {
    bytes,
    integer: (max) => random.integer(0, max - 1),
    uuid() {
      const hex = bytes(16).toString('hex');
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
    },
  };
}

function isBefore(a: Event, b: Event): boolean {
  if (a.atMs !== b.atMs) return a.atMs < b.atMs;
  return a.tieBreak === b.tieBreak ? a.order < b.order : a.tieBreak < b.tieBreak;
}

/** Adds to a binary heap. */
function push(heap: Event[], event: Event): void {
  let i = heap.length;
  heap.push(event);
  for (; i > 0;) {
    const parent = (i - 1) >> 1;
    if (!isBefore(event, heap[parent]!)) break;
    heap[i] = heap[parent]!;
    i = parent;
  }
  heap[i] = event;
}

function pop(heap: Event[]): Event | undefined {
  const first = heap[0];
  const last = heap.pop();
  if (heap.length === 0 || last === undefined) return first;
  let i = 0;
  for (;;) {
    let child = 2 * i + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
    if (!isBefore(heap[child]!, last)) break;
    heap[i] = heap[child]!;
    i = child;
  }
  heap[i] = last;
  return first;
}
