import type { IncomingHttpHeaders } from 'node:http';

/** The fields of a request that the API server uses: an `IncomingMessage`, or a request without a socket. */
export interface ServerRequest {
  readonly method?: string | undefined;
  /** The path with its query. */
  readonly url?: string | undefined;
  readonly headers: IncomingHttpHeaders;
  /** Whether the whole body has been received. */
  readonly complete: boolean;
  /** Closes the connection that the request came on. */
  readonly socket: { destroy(): unknown; once(event: 'close', listener: () => void): unknown };
  /** The text of the body once it has been read, for the record. */
  bodyText?: string;
  on(event: 'data', listener: (chunk: Buffer) => void): unknown;
  on(event: 'end', listener: () => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  /** Discards what is left of the body. */
  resume(): unknown;
}

/** The fields of a response that the API server uses, such as a `ServerResponse`. */
export interface ServerResponse {
  statusCode: number;
  readonly headersSent: boolean;
  /** Bytes that the client has not read yet. */
  readonly writableLength: number;
  setHeader(name: string, value: string): unknown;
  appendHeader(name: string, value: string): unknown;
  writeHead(statusCode: number, headers: Readonly<Record<string, string | number>>): unknown;
  flushHeaders(): void;
  write(chunk: string | Uint8Array): boolean;
  end(chunk?: string): unknown;
  /** Closes the connection. */
  destroy(): unknown;
  on(event: 'close', listener: () => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  once(event: 'close' | 'finish', listener: () => void): unknown;
}
