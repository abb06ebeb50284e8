import { setMaxListeners } from 'node:events';
import { untilAborted } from './abort.ts';
import type { Clock } from './clock.ts';

/** The time limit of one call. */
export interface Deadline {
  /** Aborted when the deadline has passed, when the result is no longer needed, and when `run` has rejected. */
  readonly signal: AbortSignal;
  /** True once the deadline has passed. */
  readonly isExceeded: boolean;
}

export interface BoundedCallOptions {
  readonly clock: Pick<Clock, 'afterFunc'>;
  /** A time-out above the maximum of setTimeout counts as no time-out. */
  readonly timeoutMs: number;
  /** The call rejects when any of them is aborted. */
  readonly signals: readonly (AbortSignal | undefined)[];
}

/** Maximum delay of setTimeout. */
const maxTimerMs = 2 ** 31 - 1;

/** Calls `run` with a deadline `timeoutMs` from now; leaves no timer and no listener behind. */
export async function withDeadline<T>(
  clock: Pick<Clock, 'afterFunc'>,
  timeoutMs: number,
  signal: AbortSignal | readonly (AbortSignal | undefined)[],
  run: (deadline: Deadline) => Promise<T>,
): Promise<T> {
  return runWithDeadline({ clock, timeoutMs, signals: [signal].flat() }, () => undefined, run);
}

/**
 * Calls a method of user code. Rejects after the time-out and when a signal is aborted, even if the
 * method does not react, and when it throws synchronously. Leaves no timer and no listener behind.
 *
 * @param what the method, for the error: `listPods of the runtime`
 */
export async function boundedCall<T>(
  what: string,
  bounds: BoundedCallOptions,
  call: (options: { readonly signal: AbortSignal }) => T | Promise<T>,
): Promise<T> {
  const timeoutError = (): Error => new CallTimeoutError(`${what} took over ${bounds.timeoutMs} ms`);
  return runWithDeadline(bounds, timeoutError, async ({ signal }) => {
    signal.throwIfAborted();
    const called = async (): Promise<T> => call({ signal });
    return untilAborted(called(), signal);
  });
}

async function runWithDeadline<T>(
  { clock, timeoutMs, signals }: BoundedCallOptions,
  timeoutReason: () => Error | undefined,
  run: (deadline: Deadline) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  // No listener limit: the callee may pass the signal to any number of calls.
  setMaxListeners(0, controller.signal);
  const present = signals.filter((signal) => signal !== undefined);
  const abort = (): void => controller.abort(present.find(({ aborted }) => aborted)?.reason);
  let isExceeded = false;
  const timer =
    timeoutMs > maxTimerMs
      ? undefined
      : clock.afterFunc(timeoutMs, () => {
          isExceeded = true;
          controller.abort(timeoutReason());
        });
  for (const signal of present) signal.addEventListener('abort', abort);
  if (present.some(({ aborted }) => aborted)) abort();
  try {
    return await run({
      signal: controller.signal,
      get isExceeded() {
        return isExceeded;
      },
    });
  } catch (error) {
    // Other calls that `run` has started would otherwise continue without a deadline.
    controller.abort(error);
    throw error;
  } finally {
    timer?.stop();
    for (const signal of present) signal.removeEventListener('abort', abort);
  }
}

/** A call of `boundedCall` took too long. */
export class CallTimeoutError extends Error {
  override readonly name = 'CallTimeoutError';
}
