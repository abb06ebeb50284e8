import type { AbortSignalLike } from '../../../src/shared/abort.ts';
import { APIError, describeAbort } from '../../../src/kube/client/api-error.ts';
import type { KubeRequestOptions, KubeResponse, KubeTransport } from '../../../src/kube/http/index.ts';
import type { KubeStream } from '../../../src/kube/http/kube-transport.ts';

type Query = NonNullable<KubeRequestOptions['query']>;

type Settle = (result: { response?: KubeResponse; stream?: KubeStream; error?: unknown }) => void;

/** One list or watch in flight, to which the test responds. */
export class Call {
  readonly isWatch: boolean;
  readonly path: string;
  readonly query: Query;
  readonly signal: AbortSignalLike;
  /** Of a watch: ended by the client, the server or a fault. */
  isOver = false;
  #isOpen = false;
  readonly #settle: Settle;
  readonly #chunks: Uint8Array[] = [];
  #end: { error?: unknown } | undefined;
  #wake = (): void => {};

  constructor(isWatch: boolean, path: string, options: KubeRequestOptions, settle: Settle) {
    this.isWatch = isWatch;
    this.path = path;
    this.query = options.query ?? {};
    this.signal = options.signal!;
    this.#settle = settle;
    const onAbort = (): void => this.fail(describeAbort(this.signal));
    if (this.signal.aborted) onAbort();
    else this.signal.addEventListener('abort', onAbort);
  }

  /** Responds to a list. */
  list(resourceVersion: string, objects: readonly object[]): void {
    this.respond({ kind: 'List', metadata: { resourceVersion }, items: objects });
  }

  respond(body: unknown): void {
    this.#settle({ response: { statusCode: 200, headers: {}, text: '', json: () => body } });
  }

  /** Opens a watch. */
  open(): this {
    this.#isOpen = true;
    this.#settle({ stream: { statusCode: 200, body: this.#read() } });
    return this;
  }

  event(type: string, object: object): this {
    return this.send(`${JSON.stringify({ type, object })}\n`);
  }

  send(bytes: string | Uint8Array): this {
    this.#chunks.push(typeof bytes === 'string' ? Buffer.from(bytes) : bytes);
    this.#wake();
    return this;
  }

  /** The server ends the watch. */
  end(): void {
    this.#end ??= {};
    this.#wake();
  }

  fail(error: unknown): void {
    this.#end ??= { error };
    if (!this.#isOpen) this.isOver = true;
    this.#wake();
    this.#settle({ error });
  }

  refuse(
    statusCode: number,
    more: { reason?: string; retryAfterMs?: number; causes?: readonly { reason: string }[] } = {},
  ): void {
    this.fail(new APIError(String(statusCode), { kind: 'http', statusCode, ...more }));
  }

  async *#read(): AsyncGenerator<Uint8Array, void> {
    try {
      for (;;) {
        const chunk = this.#chunks.shift();
        if (chunk !== undefined) yield chunk;
        else if (this.#end === undefined) await new Promise<void>((resolve) => (this.#wake = resolve));
        else if ('error' in this.#end) throw this.#end.error;
        else return;
      }
    } finally {
      this.isOver = true;
    }
  }
}

/** An API server as seen through a transport: every call waits for the response of the test. */
export class FakeTransport implements Pick<KubeTransport, 'request' | 'stream'> {
  readonly calls: Call[] = [];

  request(_method: string, path: string, options: KubeRequestOptions = {}): Promise<KubeResponse> {
    return new Promise((resolve, reject) => {
      this.calls.push(
        new Call(false, path, options, ({ response, error }) => (response ? resolve(response) : reject(error))),
      );
    });
  }

  stream(path: string, options: KubeRequestOptions = {}): Promise<KubeStream> {
    return new Promise((resolve, reject) => {
      this.calls.push(new Call(true, path, options, ({ stream, error }) => (stream ? resolve(stream) : reject(error))));
    });
  }

  /** The call that was made last; fails unless `count` were made so far. */
  last(count: number): Call {
    const call = this.calls.at(-1);
    if (call === undefined || this.calls.length !== count)
      throw new Error(`Expected ${count} calls, got ${this.calls.length}`);
    return call;
  }
}
