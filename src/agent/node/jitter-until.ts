import { type Clock, sleep } from '../../shared/clock.ts';
import { jitter } from '../../shared/exponential-back-off.ts';

const jitterFactor = 0.04;

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
    await sleep(clock, jitter(periodMs, jitterFactor, random), signal);
  }
}
