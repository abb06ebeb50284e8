import type { Clock } from '../shared/clock.ts';
import type { RequestRecord } from './http/request-log.ts';

/** Options of `APIServer.start`. */
export interface APIServerOptions {
  /** For timestamps, ages, watch timeouts, bookmarks and `latencyMs`. Default: the real clock. */
  readonly clock?: Clock | undefined;
  /** The port on 127.0.0.1. Default 0: a free port. */
  readonly port?: number | undefined;
  /** The admin's bearer token. Default: a random one. */
  readonly token?: string | undefined;
  /** Names of Nodes that get a user with the permissions of a kubelet; see `nodeToken`. */
  readonly nodeUsers?: readonly string[] | undefined;
  /** Serves HTTPS with a self-signed certificate; kubectl sends tokens over HTTPS only. Default true. */
  readonly tls?: boolean | undefined;
  /** Delay of each response in milliseconds. Default 0. */
  readonly latencyMs?: number | undefined;
  /** Minimum number of writes that are kept for watches and `history`. Default 10,000; Infinity keeps all. */
  readonly historyLimit?: number | undefined;
  /** Called once per request, when its response is complete. If it throws, a process warning is emitted. */
  readonly onRequest?: ((request: RequestRecord) => void) | undefined;
}
