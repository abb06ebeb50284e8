import type { Dispatcher } from 'undici/index.js';
import type { AbortSignalLike } from '../../shared/abort.ts';
import { ChunkBuffer } from './chunk-buffer.ts';
import { isSuccess, maxErrorBytes, responseTooLong } from './response-body.ts';

/** A response that was read completely; outside 2xx, its body may be truncated. */
export interface BufferedResponse {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/**
 * Sends one request and buffers its response, without the stream of undici's `request`.
 * Rejects with undici's error, with the signal's reason, or with an `APIError` for a response longer
 * than `maxBytes`.
 */
export function requestBuffered(
  dispatcher: Dispatcher,
  options: Dispatcher.DispatchOptions,
  signal: AbortSignalLike | undefined,
  maxBytes: number,
): Promise<BufferedResponse> {
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
    let headers: BufferedResponse['headers'] = {};
    const body = new ChunkBuffer();
    const succeed = (): void => {
      signal?.removeEventListener('abort', abort);
      resolve({ statusCode, headers, body: body.take() });
    };
    // By default, undici closes the connection after a DELETE that has a body.
    dispatcher.dispatch(
      { ...options, reset: false },
      {
        onRequestStart(started) {
          controller = started;
          // The signal was aborted while the request was queued for a connection.
          if (signal?.aborted) started.abort(signal.reason as Error);
        },
        // Also called for each 1xx response; the last call has the final status.
        onResponseStart(_controller, code, received) {
          statusCode = code;
          headers = received;
        },
        onResponseData(receiving, chunk) {
          if (body.length + chunk.length <= (isSuccess(statusCode) ? maxBytes : maxErrorBytes)) body.add(chunk);
          else {
            // The beginning of an error response is sufficient; the rest may never end.
            if (!isSuccess(statusCode)) succeed();
            receiving.abort(responseTooLong(maxBytes));
          }
        },
        onResponseEnd: succeed,
        onResponseError(_controller, error) {
          signal?.removeEventListener('abort', abort);
          reject(error);
        },
      },
    );
  });
}
