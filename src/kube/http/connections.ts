import type { Dispatcher } from 'undici/index.js';
import { TokenBucket } from '../../shared/token-bucket.ts';
import { ConnectionQueue, type ConnectionQueueOptions } from './connection-queue.ts';
import type { TlsMaterial } from './credentials.ts';
import { createDispatcher, type DestroyableDispatcher, type DispatcherOptions } from './dispatcher.ts';

/** Keep-alive connections need far fewer: this matters when a server or proxy closes every connection. */
const maxConnectionsPerSecond = 100;

export interface ConnectionsOptions
  extends
    ConnectionQueueOptions,
    Pick<DispatcherOptions, 'origin' | 'proxy' | 'tlsServerName' | 'skipTLSVerify' | 'connectTimeoutMs'> {
  readonly silenceTimeoutMs: number;
}

interface ConnectionSet extends DestroyableDispatcher {
  /** What its connections were opened with. */
  readonly tls: TlsMaterial;
}

/** The connection of one stream. */
export interface StreamConnection {
  openedWith(tls: TlsMaterial): Dispatcher;
  /** Ends the stream, if it has not ended, and its connection. */
  release(): void;
}

/**
 * A pool of connections for requests, and one connection for each stream. A request passes one gate
 * here, the queue; undici's pool has as many connections as the queue admits requests, so nothing waits
 * in it. A connection that has to be opened takes a token of `#newConnections`: the pace protects a
 * server that closes every connection, and does not apply to those that are kept alive.
 */
export class Connections {
  /** Of the requests that wait for a connection of the pool; streams do not. */
  readonly queue: ConnectionQueue;
  readonly #options: ConnectionsOptions;
  #pool: ConnectionSet | undefined;
  /** Still to be closed or destroyed: streams, and former pools with a request in flight. */
  readonly #others = new Set<ConnectionSet>();
  readonly #newConnections: TokenBucket;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.queue = new ConnectionQueue(options);
    // All connections may be opened again twice, for example after the API server was restarted.
    const burst = Math.max(maxConnectionsPerSecond, 2 * options.connections);
    this.#newConnections = new TokenBucket(maxConnectionsPerSecond, burst, options.clock);
  }

  /** Opens no connection on its own. With another `tls` object, the connections of the previous one are closed. */
  openedWith(tls: TlsMaterial): Dispatcher {
    if (this.#pool?.tls === tls) return this.#pool.dispatcher;
    const { connections, silenceTimeoutMs } = this.#options;
    void this.closeIdle();
    this.#pool = this.#connect(tls, connections, silenceTimeoutMs);
    return this.#pool.dispatcher;
  }

  /** Not from the pool: a watch must not take a place in it, and undici reconnects after an abort. */
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
