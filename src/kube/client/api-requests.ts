/** A response of the API server. */
export interface APIResponse {
  /** The parsed body. */
  json(): unknown;
}

/**
 * Requests to the API server as one user; a `KubeTransport` of `kubelet-status-manager/http`
 * is one. Everything but a 2xx response rejects with an `APIError`. Requests for the Node and its Lease
 * must not wait behind others.
 */
export interface APIRequests {
  /** Sends one request and reads its response. */
  request(
    method: string,
    path: string,
    options?: {
      readonly query?: Readonly<Record<string, string>> | undefined;
      readonly body?: unknown;
      readonly contentType?: string | undefined;
      readonly signal?: AbortSignal | undefined;
    },
  ): Promise<APIResponse>;
  /** Closes idle connections, which may be dead after repeated failures. */
  closeIdle?(): Promise<void>;
}
