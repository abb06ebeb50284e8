import type { Clock } from './clock.ts';

/**
 * What has been read is used for ten times as long as reading it took: others may ask for it as often as they like, and
 * reading still takes at most a tenth of the time. Of an asynchronous read, only the time until it first waits counts.
 */
export function limitReads<T>(clock: Pick<Clock, 'monotonicMs'>, read: () => T): () => T {
  let last: { readonly value: T; readonly untilMs: number } | undefined;
  return () => {
    const startedMs = clock.monotonicMs();
    if (last === undefined || startedMs >= last.untilMs) {
      const value = read();
      const endedMs = clock.monotonicMs();
      last = { value, untilMs: endedMs + 10 * (endedMs - startedMs) };
    }
    return last.value;
  };
}
