import type { Dispatcher } from 'undici';

/** An answer, read to its end. */
export interface WholeAnswer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/**
 * One request with its whole answer, without the stream that undici's `request` makes of it.
 * Rejects with undici's error, or with the signal's reason.
 */
export function requestWhole(
  dispatcher: Dispatcher,
  options: Dispatcher.DispatchOptions,
  signal: AbortSignal | undefined,
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
    const chunks: Buffer[] = [];
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
      onResponseData(_controller, chunk) {
        chunks.push(chunk);
      },
      onResponseEnd() {
        signal?.removeEventListener('abort', abort);
        resolve({ statusCode, headers, body: chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks) });
      },
      onResponseError(_controller, error) {
        signal?.removeEventListener('abort', abort);
        reject(error);
      },
    });
  });
}
