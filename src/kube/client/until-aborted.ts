import type { AbortSignalLike } from '../../shared/abort.ts';
import { describeAbort } from './api-error.ts';

/**
 * As `work`, but rejects as soon as the signal is aborted, with the `APIError` that says why: for
 * work that ignores the signal. Leaves no listener behind.
 */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignalLike | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(describeAbort(signal));
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort);
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
