import type { Dispatcher } from 'undici/index.js';
import { ConnectionQueue, type ConnectionQueueOptions } from './connection-queue.ts';
import type { TlsMaterial } from './credentials.ts';
import { createDispatcher, type DestroyableDispatcher, type DispatcherOptions } from './dispatcher.ts';

export interface ConnectionsOptions
  extends
    ConnectionQueueOptions,
    Pick<DispatcherOptions, 'origin' | 'proxy' | 'tlsServerName' | 'skipTLSVerify' | 'connectTimeoutMs'> {
  readonly inactivityTimeoutMs: number;
}

interface ConnectionSet extends DestroyableDispatcher {
  /** The TLS options of its connections. */
  readonly tls: TlsMaterial;
}

/** The connection of one stream. */
export interface StreamConnection {
  dispatcherFor(tls: TlsMaterial): Dispatcher;
  /** Ends the stream, if it has not ended, and its connection. */
  release(): void;
}

/**
 * A pool of connections for requests, and one connection for each stream. Requests are queued only
 * in `ConnectionQueue`: undici's pool has as many connections as that queue admits requests. (Without
 * this size, undici opens another connection while that of an aborted request closes: 9 instead of 4.)
 * A request opens at most one connection, so there is no limit on new connections per second.
 */
export class Connections {
  /** The requests that wait for a connection of the pool; streams never wait. */
  readonly queue: ConnectionQueue;
  readonly #options: ConnectionsOptions;
  #pool: ConnectionSet | undefined;
  /** Dispatchers to close: those of streams, and replaced pools with requests in flight. */
  readonly #others = new Set<ConnectionSet>();

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.queue = new ConnectionQueue(options);
  }

  /** Does not open a connection. A new `tls` object replaces the pool and closes the connections of the previous one. */
  dispatcherFor(tls: TlsMaterial): Dispatcher {
    if (this.#pool?.tls === tls) return this.#pool.dispatcher;
    const { connections, inactivityTimeoutMs } = this.#options;
    void this.closeIdle();
    this.#pool = this.#connect(tls, connections, inactivityTimeoutMs);
    return this.#pool.dispatcher;
  }

  /** Uses no connection of the pool: a watch would occupy it, and undici reconnects after an abort. */
  forStream(): StreamConnection {
    let current: ConnectionSet | undefined;
    const release = (): void => {
      if (current === undefined) return;
      this.#others.delete(current);
      current.destroy().catch(() => {});
      current = undefined;
    };
    return {
      dispatcherFor: (tls) => {
        release();
        current = this.#connect(tls, 1, 0);
        this.#others.add(current);
        return current.dispatcher;
      },
      release,
    };
  }

  /** Resolves when the requests in flight have ended; streams are not affected. */
  async closeIdle(): Promise<void> {
    const pool = this.#pool;
    this.#pool = undefined;
    if (pool === undefined) return;
    this.#others.add(pool);
    try {
      await pool.dispatcher.close();
    } catch {
      // Destroyed in the meantime.
    } finally {
      this.#others.delete(pool);
    }
  }

  /** Ends the requests in flight. */
  async destroy(): Promise<void> {
    void this.closeIdle();
    await Promise.all([...this.#others].map((other) => other.destroy()));
  }

  #connect(tls: TlsMaterial, connections: number, bodyTimeoutMs: number): ConnectionSet {
    const dispatcher = createDispatcher({
      ...this.#options,
      tls,
      connections,
      headersTimeoutMs: this.#options.inactivityTimeoutMs,
      bodyTimeoutMs,
    });
    return { tls, ...dispatcher };
  }
}
