import type { ServerRequest, ServerResponse } from './exchange.ts';
import type { User } from '../access/users.ts';

const maxRequests = 1000;
const maxBodyCharacters = 64 * 1024;

/** One request that has been responded to. */
export interface RequestRecord {
  readonly method: string;
  /** Including the query. */
  readonly path: string;
  /** 0 when no response was sent. */
  readonly status: number;
  /** `''` for a request without a valid token. */
  readonly user: string;
  /** The `Content-Type` header; `''` without one. */
  readonly contentType: string;
  /** The first 65,536 characters of the body; `''` if it is absent or was not read because of a rejection or fault. */
  readonly body: string;
}

/** The newest requests of a server. */
export class RequestLog {
  readonly #onRequest: ((request: RequestRecord) => void) | undefined;
  #requests: RequestRecord[] = [];

  constructor(onRequest: ((request: RequestRecord) => void) | undefined) {
    this.#onRequest = onRequest;
  }

  /** Oldest first. */
  get newest(): readonly RequestRecord[] {
    return this.#requests.slice(-maxRequests);
  }

  /** Call it when the response is complete, or its connection is closed. */
  add(request: ServerRequest, response: ServerResponse, user: User | undefined): void {
    const record: RequestRecord = {
      method: request.method ?? '',
      path: request.url ?? '',
      status: response.headersSent ? response.statusCode : 0,
      user: user?.name ?? '',
      contentType: request.headers['content-type'] ?? '',
      body: request.bodyText?.slice(0, maxBodyCharacters) ?? '',
    };
    this.#requests.push(record);
    if (this.#requests.length >= 2 * maxRequests) this.#requests = this.#requests.slice(-maxRequests);
    try {
      this.#onRequest?.(record);
    } catch (error) {
      // An exception in a socket event would end the process.
      const { message = String(error), stack = '' } = error instanceof Error ? error : {};
      process.emitWarning(`onRequest threw: ${message}`, { type: 'APIServerWarning', detail: stack });
    }
  }
}
