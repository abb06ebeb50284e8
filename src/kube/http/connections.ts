import type { Dispatcher } from 'undici/index.js';
import { TokenBucket } from '../../shared/token-bucket.ts';
import { ConnectionQueue, type ConnectionQueueOptions } from './connection-queue.ts';
import type { TlsMaterial } from './credentials.ts';
import { createDispatcher, type DestroyableDispatcher, type DispatcherOptions } from './dispatcher.ts';

/** Maximum rate of new connections. Reached only when a server or proxy closes every connection. */
const maxConnectionsPerSecond = 100;

export interface ConnectionsOptions
  extends
    ConnectionQueueOptions,
    Pick<DispatcherOptions, 'origin' | 'proxy' | 'tlsServerName' | 'skipTLSVerify' | 'connectTimeoutMs'> {
  readonly silenceTimeoutMs: number;
}

interface ConnectionSet extends DestroyableDispatcher {
  /** The TLS options of its connections. */
  readonly tls: TlsMaterial;
}

/** The connection of one stream. */
export interface StreamConnection {
  openedWith(tls: TlsMaterial): Dispatcher;
  /** Ends the stream, if it has not ended, and its connection. */
  release(): void;
}

/**
 * A pool of connections for requests, and one connection for each stream. Requests are queued only
 * in `ConnectionQueue`: undici's pool has as many connections as that queue admits requests. Opening
 * a connection takes a token of `#newConnections`. This rate limit protects a server that closes
 * every connection; reused keep-alive connections take no token.
 */
export class Connections {
  /** The requests that wait for a connection of the pool; streams never wait. */
  readonly queue: ConnectionQueue;
  readonly #options: ConnectionsOptions;
  #pool: ConnectionSet | undefined;
  /** Dispatchers to close: those of streams, and replaced pools with requests in flight. */
  readonly #others = new Set<ConnectionSet>();
  readonly #newConnections: TokenBucket;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.queue = new ConnectionQueue(options);
    // The burst allows all connections to be reopened twice, for example after a restart of the API server.
    const burst = Math.max(maxConnectionsPerSecond, 2 * options.connections);
    this.#newConnections = new TokenBucket(maxConnectionsPerSecond, burst, options.clock);
  }

  /** Does not open a connection. A new `tls` object replaces the pool and closes the connections of the previous one. */
  openedWith(tls: TlsMaterial): Dispatcher {
    if (this.#pool?.tls === tls) return this.#pool.dispatcher;
    const { connections, silenceTimeoutMs } = this.#options;
    void this.closeIdle();
    this.#pool = this.#connect(tls, connections, silenceTimeoutMs);
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
      openedWith: (tls) => {
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
      headersTimeoutMs: this.#options.silenceTimeoutMs,
      bodyTimeoutMs,
      newConnections: this.#newConnections,
    });
    return { tls, ...dispatcher };
  }
}
