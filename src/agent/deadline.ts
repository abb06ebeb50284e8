import type { Clock } from '../shared/clock.ts';

/** The time limit of one call. */
export interface Deadline {
  /** Aborted when the deadline has passed, or when the result is no longer needed. */
  readonly signal: AbortSignal;
  /** True once the deadline has passed. */
  readonly isExceeded: boolean;
}

/** Calls `run` with a deadline `timeoutMs` from now; leaves no timer and no listener behind. */
export async function withDeadline<T>(
  clock: Clock,
  timeoutMs: number,
  signal: AbortSignal,
  run: (deadline: Deadline) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const abort = (): void => controller.abort(signal.reason);
  let isExceeded = false;
  const timer = clock.afterFunc(timeoutMs, () => {
    isExceeded = true;
    controller.abort();
  });
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort);
  try {
    return await run({
      signal: controller.signal,
      get isExceeded() {
        return isExceeded;
      },
    });
  } finally {
    timer.stop();
    signal.removeEventListener('abort', abort);
  }
}
