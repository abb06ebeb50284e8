import type { Dispatcher } from 'undici/index.js';
import { APIError } from '../client/api-error.ts';
import { closedError, ConnectionQueue, type ConnectionQueueOptions } from './connection-queue.ts';
import type { TlsMaterial } from './credentials.ts';
import { createDispatcher, type DestroyableDispatcher, type DispatcherOptions } from './dispatcher.ts';
import type { SharedSessions } from './shared-sessions.ts';

export interface ConnectionsOptions
  extends
    ConnectionQueueOptions,
    Pick<DispatcherOptions, 'origin' | 'proxy' | 'tlsServerName' | 'skipTLSVerify' | 'connectTimeoutMs'> {
  readonly inactivityTimeoutMs: number;
}

/** Keep-alive connections with the same TLS options. */
interface ConnectionSet extends DestroyableDispatcher {
  readonly tls: TlsMaterial;
}

/** The connection of one stream. */
export interface StreamConnection {
  /** @throws APIError `aborted` when it has been released or all connections are closed */
  dispatcherFor(tls: TlsMaterial): Dispatcher;
  /** Ends the stream, if it has not ended, and its connection. */
  release(): void;
}

/**
 * - **unconnected**: There is no pool. Left by the next request.
 * - **connected**: Requests use `pool`. A request with other TLS options replaces it; `closeIdle` leads
 *   back to unconnected. In both cases the previous pool ends with its requests in flight.
 * - **closed**: Everything has been ended, and requests are refused. Never left.
 */
type PoolState =
  | { readonly kind: 'unconnected' }
  | { readonly kind: 'connected'; readonly pool: ConnectionSet }
  | { readonly kind: 'closed' };

/**
 * - **unconnected**: The credentials are being loaded.
 * - **connected**: The request was sent; after a 401, another connection with other credentials replaces this one.
 * - **released**: The stream has ended or was given up. Never left, so that nothing connects afterwards.
 */
type StreamState =
  | { readonly kind: 'unconnected' }
  | { readonly kind: 'connected'; readonly connection: ConnectionSet }
  | { readonly kind: 'released' };

/**
 * A pool of connections for requests, and one connection for each stream. Requests are queued only
 * in `ConnectionQueue`: undici's pool has as many connections as that queue admits requests. (Without
 * this size, undici opens another connection while that of an aborted request closes: 9 instead of 4.)
 * A request opens at most one connection, so there is no limit on new connections per second.
 * With `SharedSessions`, requests and streams are sent over those if the server chooses HTTP/2.
 */
export class Connections {
  /** The requests that wait for a connection of the pool; streams never wait. */
  readonly queue: ConnectionQueue;
  readonly #options: ConnectionsOptions;
  readonly #sessions: SharedSessions | undefined;
  #state: PoolState = { kind: 'unconnected' };
  /** Connections of streams, and previous pools with requests in flight. */
  readonly #others = new Set<ConnectionSet>();

  /** @param sessions which requests and streams share with other `Connections` */
  constructor(options: ConnectionsOptions, sessions?: SharedSessions) {
    this.#options = options;
    this.#sessions = sessions;
    this.queue = new ConnectionQueue(options);
  }

  get isClosed(): boolean {
    return this.#state.kind === 'closed';
  }

  /** Connects when a request is sent. @throws APIError `aborted` when closed */
  dispatcherFor(tls: TlsMaterial): Dispatcher {
    if (this.#state.kind === 'connected' && this.#state.pool.tls === tls) return this.#state.pool.dispatcher;
    const { connections, inactivityTimeoutMs } = this.#options;
    const pool = this.#connect(tls, connections, inactivityTimeoutMs);
    void this.closeIdle();
    this.#state = { kind: 'connected', pool };
    return pool.dispatcher;
  }

  /** Uses no connection of the pool: a watch would occupy it, and undici reconnects after an abort. */
  forStream(): StreamConnection {
    let state: StreamState = { kind: 'unconnected' };
    const disconnect = (): void => {
      if (state.kind !== 'connected') return;
      this.#others.delete(state.connection);
      state.connection.destroy().catch(() => {});
    };
    return {
      dispatcherFor: (tls) => {
        if (state.kind === 'released') throw new APIError('the stream has been given up', { kind: 'aborted' });
        const connection = this.#connect(tls, 1, 0);
        disconnect();
        state = { kind: 'connected', connection };
        this.#others.add(connection);
        return connection.dispatcher;
      },
      release: () => {
        disconnect();
        state = { kind: 'released' };
      },
    };
  }

  /** Resolves when the requests in flight have ended; streams are not affected. */
  async closeIdle(): Promise<void> {
    this.#sessions?.closeIdle();
    if (this.#state.kind !== 'connected') return;
    const { pool } = this.#state;
    this.#state = { kind: 'unconnected' };
    this.#others.add(pool);
    try {
      await pool.dispatcher.close();
    } catch {
      // Destroyed in the meantime.
    } finally {
      this.#others.delete(pool);
    }
  }

  /** Ends the requests in flight and the streams. */
  async close(): Promise<void> {
    void this.closeIdle();
    this.#state = { kind: 'closed' };
    await Promise.all([this.#sessions?.close(), ...[...this.#others].map((other) => other.destroy())]);
  }

  #connect(tls: TlsMaterial, connections: number, bodyTimeoutMs: number): ConnectionSet {
    if (this.isClosed) throw closedError();
    const headersTimeoutMs = this.#options.inactivityTimeoutMs;
    const options = { ...this.#options, tls, connections, headersTimeoutMs, bodyTimeoutMs };
    return { tls, ...(this.#sessions?.createDispatcher(options) ?? createDispatcher(options)) };
  }
}
