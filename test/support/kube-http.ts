import { Agent, request as undiciRequest } from 'undici';

export interface KubeHTTPOptions {
  /** The URL of the API server, without a path: `https://127.0.0.1:6443`. */
  readonly url: string;
  /** The bearer token of requests that have none. */
  readonly token?: string;
  /** The serving certificate's authority, base64 of PEM as in a kubeconfig. */
  readonly caData?: string;
}

export interface KubeRequestOptions {
  readonly token?: string;
  /** Sent as JSON; a string is sent unchanged. */
  readonly body?: unknown;
  /** Default `application/json`. */
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** Unchecked JSON. Tests access any field, and a failing expectation shows what is missing. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Json = any;

export interface KubeResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Parsed if it is JSON, otherwise the text. */
  readonly body: Json;
}

export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: Json;
}

export interface WatchStream extends AsyncIterable<WatchEvent> {
  readonly status: number;
  /** The next event; `done` when the server has ended the watch. */
  next(): Promise<IteratorResult<WatchEvent, undefined>>;
  /** Aborts the request, however much of it has been read. */
  close(): void;
}

/** A small JSON requester for tests: no retries, no interpretation of status codes. */
export class KubeHTTP {
  readonly #url: string;
  readonly #token: string | undefined;
  readonly #agent: Agent;

  constructor(options: KubeHTTPOptions) {
    this.#url = options.url;
    this.#token = options.token;
    this.#agent = new Agent({
      connect: options.caData === undefined ? {} : { ca: Buffer.from(options.caData, 'base64').toString() },
    });
  }

  /** Resolves for every status code. Rejects if there is no response. */
  async request(method: string, path: string, options: KubeRequestOptions = {}): Promise<KubeResponse> {
    const response = await this.#send(method, path, options);
    return {
      status: response.statusCode,
      headers: response.headers,
      body: parseIfJSON(await response.body.text(), String(response.headers['content-type'] ?? '')),
    };
  }

  /**
   * Opens a watch. The iterator ends when the server ends the response. A response that is not a stream
   * of events (a Status with an error code) is returned as its only item, with type `ERROR`.
   */
  async watch(path: string, options: KubeRequestOptions = {}): Promise<WatchStream> {
    const controller = new AbortController();
    const response = await this.#send('GET', path, { ...options, signal: controller.signal });
    const events = readEvents(response.body, response.statusCode);
    return {
      status: response.statusCode,
      next: () => events.next(),
      close: () => {
        // The body rejects with an AbortError, which nothing handles any more.
        response.body.on('error', () => {});
        controller.abort();
      },
      [Symbol.asyncIterator]: () => events,
    };
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  #send(method: string, path: string, options: KubeRequestOptions): ReturnType<typeof undiciRequest> {
    const token = options.token ?? this.#token;
    const { body } = options;
    return undiciRequest(this.#url + path, {
      method,
      dispatcher: this.#agent,
      headers: {
        accept: 'application/json',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': options.contentType ?? 'application/json' }),
        ...options.headers,
      },
      body: body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
  }
}

function parseIfJSON(text: string, contentType: string): Json {
  return contentType.startsWith('application/json') && text !== '' ? JSON.parse(text) : text;
}

async function* readEvents(body: AsyncIterable<Buffer>, status: number): AsyncGenerator<WatchEvent, undefined> {
  let rest = '';
  const decoder = new TextDecoder();
  for await (const chunk of body) {
    rest += decoder.decode(chunk, { stream: true });
    if (status !== 200) continue;
    const lines = rest.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line !== '') yield JSON.parse(line) as WatchEvent;
  }
  if (status !== 200) yield { type: 'ERROR', object: JSON.parse(rest) };
}
