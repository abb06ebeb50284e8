import type { Clock } from '../../shared/clock.ts';
import { untilAborted, withDeadline } from '../deadline.ts';

const jitterFactor = 0.04;

/** Resolves after `ms`, or as soon as `signal` is aborted. */
export function sleep(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return withDeadline(clock, ms, signal, async (deadline) => {
    await untilAborted(new Promise(() => {}), deadline.signal);
  });
}

/**
 * Calls `run`, waits until it is done, then for the period plus up to 4 %, and repeats until `signal` is aborted.
 * `run` must not reject. Source: apimachinery `wait.JitterUntil`.
 */
export async function jitterUntil(
  run: () => Promise<void>,
  { clock, periodMs, random, signal }: { clock: Clock; periodMs: number; random: () => number; signal: AbortSignal },
): Promise<void> {
  while (!signal.aborted) {
    await run();
    await sleep(clock, periodMs * (1 + random() * jitterFactor), signal);
  }
}
