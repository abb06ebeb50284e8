import type { AbortSignalLike } from './abort.ts';

/** A pending timer. */
export interface Timer {
  /** Cancels the timer; does nothing when it has fired or was stopped before. */
  stop(): void;
}

/**
 * The only source of wall time, monotonic time, timers and event-loop turns in this library. Tests
 * pass `FakeClock` from `kubelet-status-manager/testing`. A clock must not throw, and must return
 * numbers: unlike other ports, it is not guarded.
 * Source: k8s.io/utils/clock `WithDelayedExecution`.
 */
export interface Clock {
  /** Wall time in milliseconds since the epoch; may jump. For timestamps. */
  now(): number;
  /** Milliseconds from an arbitrary start that never go back. For durations and deadlines. */
  monotonicMs(): number;
  /** Calls `callback` once, `delayMs` milliseconds from now. */
  afterFunc(delayMs: number, callback: () => void): Timer;
  /** Resolves after other pending work of the event loop had a turn. */
  yieldToEventLoop(): Promise<void>;
}

/** A clock as an option: methods of `Clock` that are optional here default to the system clock's. */
export type ClockLike = Pick<Clock, 'now' | 'monotonicMs' | 'afterFunc'> & Partial<Clock>;

/** Resolves after `ms` milliseconds, or as soon as `signal` is aborted; leaves no timer and no listener behind. */
export function sleep(clock: Pick<Clock, 'afterFunc'>, ms: number, signal: AbortSignalLike): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const wake = (): void => {
      timer.stop();
      signal.removeEventListener('abort', wake);
      resolve();
    };
    const timer = clock.afterFunc(ms, wake);
    signal.addEventListener('abort', wake);
  });
}

/** The longest delay of setTimeout. */
const maxTimerMs = 2 ** 31 - 1;

/**
 * The real clock.
 *
 * @example
 * ```ts
 * import { systemClock } from 'kubelet-status-manager';
 *
 * const timer = systemClock.afterFunc(1_000, () => console.log('1 s later'));
 * timer.stop();
 * ```
 */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  afterFunc(delayMs, callback) {
    const untilMs = performance.now() + delayMs;
    // A longer delay, such as a grace period of more than 24 days, would become 1 ms.
    const schedule = (ms: number): NodeJS.Timeout =>
      ms > maxTimerMs ? setTimeout(reschedule, maxTimerMs) : setTimeout(callback, ms);
    const reschedule = (): void => {
      timer = schedule(Math.max(0, untilMs - performance.now()));
    };
    let timer = schedule(delayMs);
    return { stop: () => clearTimeout(timer) };
  },
  yieldToEventLoop: () => new Promise((resolve) => setImmediate(resolve)),
};

/**
 * Calls `callback` in a microtask. Not `queueMicrotask`, because Jest's fake timers replace it, and
 * then nothing would ever be sent.
 */
export function runInMicrotask(callback: () => void): void {
  // oxlint-disable-next-line promise/no-callback-in-promise -- no error-first callback, and it is called once
  void Promise.resolve().then(callback);
}
