import { type Clock, sleep } from '../../shared/clock.ts';
import { jitter } from '../../shared/exponential-back-off.ts';

const jitterFactor = 0.04;
/** With `spread`, runs begin at multiples of a tenth of the period of the monotonic clock. */
const slotsPerPeriod = 10;

export interface JitterUntilOptions {
  readonly clock: Clock;
  readonly periodMs: number;
  readonly random: () => number;
  readonly signal: AbortSignal;
  /**
   * For many loops in one process: the first period is a random part of the others, so that they do not stay in step. Each ends
   * up to a tenth of it earlier, together with those of other loops, so that the process wakes up less often.
   */
  readonly spread?: boolean | undefined;
}

/**
 * Calls `run`, waits until it is done, then for the period plus up to 4 %, and repeats until `signal` is aborted.
 * `run` must not reject. Source: apimachinery `wait.JitterUntil`.
 *
 * Divergence: with `spread`, the first period is shorter, and each ends up to a tenth earlier; the kubelet has one node.
 */
export async function jitterUntil(
  run: () => Promise<void>,
  { clock, periodMs, random, signal, spread = false }: JitterUntilOptions,
): Promise<void> {
  let delayMs = spread ? periodMs * (1 - random()) : jitter(periodMs, jitterFactor, random);
  while (!signal.aborted) {
    await run();
    await sleep(clock, spread ? untilSlot(clock, delayMs, periodMs / slotsPerPeriod) : delayMs, signal);
    delayMs = jitter(periodMs, jitterFactor, random);
  }
}

/** The last multiple of `slotMs` within the delay; the next one if there is none. */
function untilSlot(clock: Clock, delayMs: number, slotMs: number): number {
  const toSlotMs = delayMs - ((clock.monotonicMs() + delayMs) % slotMs);
  return toSlotMs > 0 ? toSlotMs : toSlotMs + slotMs;
}
