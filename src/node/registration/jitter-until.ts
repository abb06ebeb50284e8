import { type Clock, sleep } from '../../shared/clock.ts';
import { jitter } from '../../shared/exponential-back-off.ts';

const jitterFactor = 0.04;

export interface JitterUntilOptions {
  readonly clock: Clock;
  readonly periodMs: number;
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** The first period is a random part of the others, so that loops that start together do not stay in step. */
  readonly spread?: boolean | undefined;
}

/**
 * Calls `run`, waits until it is done, then for the period plus up to 4 %, and repeats until `signal` is aborted.
 * `run` must not reject. Source: apimachinery `wait.JitterUntil`.
 */
export async function jitterUntil(
  run: () => Promise<void>,
  { clock, periodMs, random, signal, spread = false }: JitterUntilOptions,
): Promise<void> {
  let delayMs = spread ? periodMs * (1 - random()) : jitter(periodMs, jitterFactor, random);
  while (!signal.aborted) {
    await run();
    await sleep(clock, delayMs, signal);
    delayMs = jitter(periodMs, jitterFactor, random);
  }
}
