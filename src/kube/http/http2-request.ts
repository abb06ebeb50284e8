import { type ClientHttp2Session, type ClientHttp2Stream, constants } from 'node:http2';
import { type Dispatcher, errors } from 'undici/index.js';
import { connectionError } from './connector.ts';

export interface HTTP2RequestOptions {
  /** Maximum time without a response. */
  readonly headersTimeoutMs: number;
  /** Maximum time without data while a body is read; 0: no limit. */
  readonly bodyTimeoutMs: number;
}

/** One request of an undici handler, sent as a stream of an HTTP/2 session. */
export class HTTP2Request implements Dispatcher.DispatchController {
  readonly #options: HTTP2RequestOptions & Dispatcher.DispatchOptions;
  readonly #handler: Dispatcher.DispatchHandler;
  #stream: ClientHttp2Stream | undefined;
  #onUnanswered: (() => void) | undefined;
  #resend: (() => void) | undefined;
  #isStarted = false;
  #hasResponse = false;
  /** The response's `content-length`. */
  #expected: string | undefined;
  #received = 0;
  #isDone = false;
  aborted = false;
  paused = false;
  reason: Error | null = null;

  /** @param resend called once if the server did not process the request, because it had already sent GOAWAY */
  constructor(
    options: HTTP2RequestOptions & Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
    resend: () => void,
  ) {
    this.#options = options;
    this.#handler = handler;
    this.#resend = resend;
  }

  /**
   * Returns the stream; undefined if the request was aborted or cannot be sent.
   * @param onUnanswered called when the request is aborted before its response begins: the connection may be dead
   */
  send(session: ClientHttp2Session, onUnanswered: () => void): ClientHttp2Stream | undefined {
    if (!this.#isStarted) this.#handler.onRequestStart?.(this, undefined);
    this.#isStarted = true;
    if (this.#isDone) return undefined;
    this.#onUnanswered = onUnanswered;
    try {
      this.#stream = this.#open(session);
    } catch (error) {
      this.fail(error);
    }
    return this.#stream;
  }

  pause(): void {
    this.paused = true;
    this.#stream?.pause();
  }

  resume(): void {
    this.paused = false;
    this.#stream?.resume();
  }

  /** Resets its own stream only. */
  abort(reason: Error): void {
    if (this.#isDone) return;
    this.aborted = true;
    this.reason = reason;
    this.#stream?.close(constants.NGHTTP2_CANCEL);
    // A stream with unread data would not close.
    this.#stream?.resume();
    if (!this.#hasResponse) this.#onUnanswered?.();
    this.fail(reason);
  }

  fail(error: unknown): void {
    if (this.#isDone) return;
    this.#isDone = true;
    this.#handler.onResponseError?.(this, error as Error);
  }

  #open(session: ClientHttp2Session): ClientHttp2Stream {
    const { method, path, headers, body, headersTimeoutMs, bodyTimeoutMs } = this.#options;
    const content = typeof body === 'string' ? Buffer.from(body) : undefined;
    const stream = session.request(
      {
        ...(headers as Readonly<Record<string, string | string[]>>),
        ...(content && { 'content-length': content.length }),
        ':method': method,
        ':path': path,
      },
      { endStream: content === undefined },
    );
    if (content !== undefined) stream.end(content);
    stream.setTimeout(headersTimeoutMs, () =>
      this.abort(this.#hasResponse ? new errors.BodyTimeoutError() : new errors.HeadersTimeoutError()),
    );
    stream.on('response', ({ ':status': statusCode, ...received }) => {
      this.#hasResponse = true;
      this.#expected = received['content-length'];
      if (bodyTimeoutMs !== headersTimeoutMs) stream.setTimeout(bodyTimeoutMs);
      if (!this.#isDone) this.#handler.onResponseStart?.(this, statusCode!, received, '');
      // Not before: Node.js may have read data already when it emits `response`.
      stream.on('data', (chunk: Buffer) => {
        this.#received += chunk.length;
        if (!this.#isDone) this.#handler.onResponseData?.(this, chunk);
      });
    });
    stream.on('end', () => this.#onEnd(stream));
    stream.on('error', (error) => this.#onError(stream, error));
    stream.on('close', () => {
      // A stream also closes after a complete response, for which an error would cost its stack.
      if (!this.#isDone)
        this.#onError(stream, connectionError('ERR_HTTP2_STREAM_CLOSED', 'the response is incomplete'));
    });
    return stream;
  }

  #onError(stream: ClientHttp2Stream, error: Error): void {
    if (this.#isDone || this.#stream !== stream) return;
    const resend = this.#resend;
    if (stream.rstCode !== constants.NGHTTP2_REFUSED_STREAM || this.#hasResponse || resend === undefined)
      return this.fail(error);
    this.#resend = undefined;
    this.#stream = undefined;
    resend();
  }

  #onEnd({ destroyed, rstCode }: ClientHttp2Stream): void {
    const isLength = this.#expected === undefined || Number(this.#expected) === this.#received;
    // Node also ends a stream whose connection is lost, and one that the server resets with NO_ERROR or CANCEL.
    if (this.#isDone || !this.#hasResponse || destroyed || rstCode !== constants.NGHTTP2_NO_ERROR || !isLength) return;
    this.#isDone = true;
    this.#handler.onResponseEnd?.(this, {});
  }
}
