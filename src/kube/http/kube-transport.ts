import type { AbortSignalLike } from '../../shared/abort.ts';
import type { QueryParameters } from './api-path.ts';

/** Options of one request. */
export interface KubeRequestOptions {
  readonly query?: QueryParameters | undefined;
  /** Names in lower case; take precedence over the transport's headers. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Any JSON value. */
  readonly body?: unknown;
  /** Content type of the body; default `application/json`. */
  readonly contentType?: string | undefined;
  /** Maximum size of a buffered response, both compressed and uncompressed; default 256 MiB. A larger one is an `invalid-response`. */
  readonly maxResponseBytes?: number | undefined;
  /** Ends the request: `timeout` when its reason is a `TimeoutError`, else `aborted`. */
  readonly signal?: AbortSignalLike | undefined;
  /** Called when the request has to wait because all connections are in use. */
  readonly onQueued?: (() => void) | undefined;
  /** Called when a connection takes a request that was queued. */
  readonly onStarted?: (() => void) | undefined;
}

/** Options of a request whose response is read as a stream. */
export interface KubeStreamOptions extends Pick<KubeRequestOptions, 'query' | 'headers'> {
  /** Ends the stream: as `KubeRequestOptions.signal`. */
  readonly signal?: AbortSignal | undefined;
}

/** A buffered response. */
export interface KubeResponse {
  /** 200 to 299. */
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** Parses the text, without converting any field; throws an `APIError` `invalid-response` if it is not JSON. */
  json(): unknown;
}

/** A response that is read as it arrives. */
export interface KubeStream {
  readonly statusCode: number;
  /** Can be read once; leaving the loop ends the request. Throws `APIError`s. */
  readonly body: AsyncIterable<Uint8Array>;
}

/**
 * Requests to one API server as one kubeconfig user. Everything but a 2xx response rejects with an
 * `APIError`, which never contains credentials. A request is sent a second time in two cases: after a 401, if the
 * credentials have changed when they are read again, and if the server closes a shared HTTP/2 connection without
 * processing the request. Nothing else is retried.
 */
export interface KubeTransport {
  /**
   * One request with a buffered response. `path` is absolute below the server's URL and without query,
   * for example `/api/v1/nodes/node-1`; escape untrusted names with `pathSegment`. Requests for a
   * Node, its status and Leases use separate connections, so heartbeats never wait behind other
   * requests.
   */
  request(method: string, path: string, options?: KubeRequestOptions): Promise<KubeResponse>;
  /** A GET with a streamed response, for watches. Uses its own connection and has no idle timeout. */
  stream(path: string, options?: KubeStreamOptions): Promise<KubeStream>;
  /** Milliseconds since a request last succeeded (2xx), streams included; undefined when none has. */
  readonly lastSuccessAgeMs: number | undefined;
  /** Closes idle connections. Requests in flight and streams are not interrupted, and later requests connect again. */
  closeIdle(): Promise<void>;
  /** Ends everything in flight with `aborted`; later requests are refused. Idempotent. */
  close(): Promise<void>;
}
