import type { QueryParameters } from './api-path.ts';

/** What goes with one request beside method and path. */
export interface KubeRequestOptions {
  readonly query?: QueryParameters | undefined;
  /** Names in lower case; they win over the transport's own. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Any JSON value. */
  readonly body?: unknown;
  /** Of the body; default `application/json`. */
  readonly contentType?: string | undefined;
  /** Longest answer to a `request`, as sent and unzipped; default 256 MiB. Longer ones are an `invalid-answer`. */
  readonly maxAnswerBytes?: number | undefined;
  /** Ends the request: `timeout` when its reason is a `TimeoutError`, else `aborted`. */
  readonly signal?: AbortSignal | undefined;
}

export type KubeStreamOptions = Pick<KubeRequestOptions, 'query' | 'headers' | 'signal'>;

/** An answer, read to its end. */
export interface KubeResponse {
  /** 200 to 299. */
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** The parsed text, nothing lost or converted; throws an `ApiError` `invalid-answer` when it is no JSON. */
  json(): unknown;
}

/** An answer that is read as it comes. */
export interface KubeStream {
  readonly statusCode: number;
  /** To be read once; leaving the loop ends the request. Throws `ApiError`s. */
  readonly body: AsyncIterable<Uint8Array>;
}

/**
 * Requests to one API server in the name of one kubeconfig user. Everything but a 2xx answer
 * rejects with an `ApiError`, in which no credential ever stands. A 401 leads to fresh credentials
 * and, when there are others, to one more try; nothing else is ever retried.
 */
export interface KubeTransport {
  /**
   * One request with its whole answer. `path` is absolute below the server's URL and without query,
   * for example `/api/v1/nodes/node-1`; names from outside go through `pathSegment` first.
   */
  request(method: string, path: string, options?: KubeRequestOptions): Promise<KubeResponse>;
  /** A GET whose answer is read as it comes, for watches, on a connection apart from the others and without a limit on silence. */
  stream(path: string, options?: KubeStreamOptions): Promise<KubeStream>;
  /** Closes idle connections; requests under way and streams end by themselves, later ones connect anew. */
  closeIdle(): Promise<void>;
  /** Ends everything under way with `aborted`, for good. Idempotent. */
  close(): Promise<void>;
}
