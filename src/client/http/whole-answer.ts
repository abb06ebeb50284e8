import type { Dispatcher } from 'undici';
import { isSuccess, MAX_ERROR_BYTES, tooLong } from './answer.ts';

/** An answer, read to its end; of one that is not 2xx at most the beginning. */
export interface WholeAnswer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/**
 * One request with its whole answer, without the stream that undici's `request` makes of it.
 * Rejects with undici's error, with the signal's reason, or with an `ApiError` for an answer longer
 * than `maxBytes`.
 */
export function requestWhole(
  dispatcher: Dispatcher,
  options: Dispatcher.DispatchOptions,
  signal: AbortSignal | undefined,
  maxBytes: number,
): Promise<WholeAnswer> {
  return new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined;
    const abort = (): void => {
      const reason = signal!.reason as Error;
      controller?.abort(reason);
      reject(reason);
    };
    if (signal?.aborted) return abort();
    signal?.addEventListener('abort', abort);
    let statusCode = 0;
    let headers: WholeAnswer['headers'] = {};
    let length = 0;
    const chunks: Buffer[] = [];
    const succeed = (): void => {
      signal?.removeEventListener('abort', abort);
      resolve({ statusCode, headers, body: chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks) });
    };
    dispatcher.dispatch(options, {
      onRequestStart(started) {
        controller = started;
        // It was still waiting for a connection when it was aborted.
        if (signal?.aborted) started.abort(signal.reason as Error);
      },
      // Comes for each 1xx, too; the last one counts.
      onResponseStart(_controller, code, received) {
        statusCode = code;
        headers = received;
      },
      onResponseData(receiving, chunk) {
        length += chunk.length;
        if (length <= (isSuccess(statusCode) ? maxBytes : MAX_ERROR_BYTES)) chunks.push(chunk);
        else {
          // Of an error the beginning is enough; what follows may have no end.
          if (!isSuccess(statusCode)) succeed();
          receiving.abort(tooLong(maxBytes));
        }
      },
      onResponseEnd: succeed,
      onResponseError(_controller, error) {
        signal?.removeEventListener('abort', abort);
        reject(error);
      },
    });
  });
}
