import { setMaxListeners } from 'node:events';
import type { Clock } from '../shared/clock.ts';

export interface BoundedCallOptions {
  readonly clock: Pick<Clock, 'afterFunc'>;
  /** A time-out above the maximum of setTimeout counts as no time-out. */
  readonly timeoutMs: number;
  /** The call rejects when any of them is aborted. */
  readonly signals: readonly (AbortSignal | undefined)[];
}

/** Maximum delay of setTimeout. */
const maxTimerMs = 2 ** 31 - 1;

/**
 * Calls a method of user code. Rejects after the time-out and when a signal is aborted, even if the
 * method does not react, and when it throws synchronously. Leaves no timer and no listener behind.
 *
 * @param what the method, for the error: `listPods of the runtime`
 */
export function boundedCall<T>(
  what: string,
  { clock, timeoutMs, signals }: BoundedCallOptions,
  call: (options: { readonly signal: AbortSignal }) => T | Promise<T>,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const present = signals.filter((signal) => signal !== undefined);
    const aborted = present.find((signal) => signal.aborted);
    if (aborted !== undefined) return reject(aborted.reason as Error);
    const controller = new AbortController();
    // The call may pass its signal on to any number of others.
    setMaxListeners(0, controller.signal);
    const end = (): void => {
      timer?.stop();
      for (const signal of present) signal.removeEventListener('abort', onAbort);
    };
    const giveUp = (error: Error): void => {
      end();
      reject(error);
      controller.abort(error);
    };
    const onAbort = (): void => giveUp(present.find((signal) => signal.aborted)?.reason as Error);
    for (const signal of present) signal.addEventListener('abort', onAbort);
    const timer =
      timeoutMs > maxTimerMs
        ? undefined
        : clock.afterFunc(timeoutMs, () => giveUp(new Error(`${what} took over ${timeoutMs} ms`)));
    const called = async (): Promise<T> => call({ signal: controller.signal });
    called().then(resolve, reject).finally(end);
  });
}
