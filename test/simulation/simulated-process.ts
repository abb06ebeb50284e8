import type { Clock, Timer } from '../../src/shared/clock.ts';
import type { World } from './world.ts';

/** A process in the world: what it waits for reaches it only while it lives and is not paused. */
export class SimulatedProcess {
  readonly name: string;
  readonly clock: Clock;
  readonly world: World;
  /** What the wall clock of its machine is off. */
  wallOffsetMs = 0;
  /** How fast its clocks run. */
  readonly #rate: number;
  readonly #startMs: number;
  readonly #timers = new Set<Timer>();
  #held: (() => void)[] | undefined;
  #isAlive = true;
  #isPaused = false;

  /** @param rate of its clocks; default 1 */
  constructor(world: World, name: string, rate = 1) {
    this.world = world;
    this.name = name;
    this.#rate = rate;
    this.#startMs = world.nowMs;
    const sinceStartMs = (): number => (world.nowMs - this.#startMs) * this.#rate;
    this.clock = {
      now: () => Math.floor(world.startEpochMs + this.#startMs + sinceStartMs() + this.wallOffsetMs),
      monotonicMs: () => this.#startMs + sinceStartMs(),
      afterFunc: (delayMs, callback) => {
        if (!Number.isFinite(delayMs)) world.violate('a timer has a time', `${name}: ${delayMs} ms`);
        const timer = this.receive(delayMs / this.#rate, () => {
          this.#timers.delete(stoppable);
          callback();
        });
        const stoppable: Timer = {
          stop: () => {
            this.#timers.delete(stoppable);
            timer.stop();
          },
        };
        this.#timers.add(stoppable);
        return stoppable;
      },
      yieldToEventLoop: () => new Promise((resolve) => void this.receive(0, () => resolve())),
    };
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Timers that have neither fired nor been stopped. */
  get timers(): number {
    return this.#timers.size;
  }

  /**
   * Something from outside reaches this process after `delayMs`: not if it is dead by then, later if it is paused.
   * @param run gets when it arrived, by the clock of this process
   */
  receive(delayMs: number, run: (arrivedMs: number) => void): Timer {
    let isStopped = false;
    const deliver = (): void => {
      if (isStopped || !this.#isAlive) return;
      const arrivedMs = this.clock.monotonicMs();
      if (this.#held === undefined) run(arrivedMs);
      else this.#held.push(() => void (isStopped || run(arrivedMs)));
    };
    const event = this.world.at(delayMs, deliver);
    return {
      stop: () => {
        isStopped = true;
        event.stop();
      },
    };
  }

  /** As with SIGSTOP; what arrives in the meantime waits. */
  pause(): void {
    this.#held ??= [];
    this.#isPaused = true;
  }

  /** What waited is handled in the order of its arrival, before what arrives later. */
  resume(): void {
    this.#isPaused = false;
    this.world.at(0, () => this.#handleNext());
  }

  #handleNext(): void {
    if (this.#isPaused || this.#held === undefined) return;
    const next = this.#held.shift();
    if (next === undefined) this.#held = undefined;
    else {
      if (this.#isAlive) next();
      this.world.at(0, () => this.#handleNext());
    }
  }

  /** As with SIGKILL: nothing of it runs any more. */
  kill(): void {
    this.#isAlive = false;
    for (const timer of this.#timers) timer.stop();
    this.#timers.clear();
  }
}
