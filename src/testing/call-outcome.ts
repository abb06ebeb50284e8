import { type Clock, sleep } from '../shared/clock.ts';
import { show } from './rule-results.ts';

/** How a call has ended so far. */
export type CallOutcome<T = unknown> =
  | { readonly state: 'resolved'; readonly value: T }
  | { readonly state: 'rejected'; readonly message: string; readonly error: unknown }
  | { readonly state: 'pending' };

interface Limits {
  readonly clock: Clock;
  readonly timeoutMs: number;
}

/** Makes the call, and waits for its end until the time is over. */
export async function outcomeOf<T>({ clock, timeoutMs }: Limits, call: () => Promise<T>): Promise<CallOutcome<T>> {
  const ended = new AbortController();
  const called = async (): Promise<T> => call();
  const outcome = called().then(
    (value): CallOutcome<T> => ({ state: 'resolved', value }),
    (error: unknown): CallOutcome<T> => {
      return { state: 'rejected', message: error instanceof Error ? error.message : String(error), error };
    },
  );
  const timedOut = sleep(clock, timeoutMs, ended.signal).then((): CallOutcome<T> => ({ state: 'pending' }));
  try {
    return await Promise.race([outcome, timedOut]);
  } finally {
    ended.abort();
  }
}

/** An outcome in the message of a result. */
export function seenIn(outcome: CallOutcome): string {
  return outcome.state === 'rejected' ? `rejected with ${show(outcome.message)}` : outcome.state;
}

/** Resolves when the condition is met, or the time is over. */
export async function pollUntil(
  { clock, timeoutMs, pollMs }: Limits & { readonly pollMs: number },
  isMet: () => Promise<boolean>,
): Promise<void> {
  const deadlineMs = clock.monotonicMs() + timeoutMs;
  while (!(await isMet()) && clock.monotonicMs() < deadlineMs) await sleep(clock, pollMs, new AbortController().signal);
}
