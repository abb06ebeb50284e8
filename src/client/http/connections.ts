import type { Dispatcher } from 'undici';
import type { TlsMaterial } from './credentials.ts';
import type { DispatcherOptions } from './dispatcher.ts';
import { createDispatcher } from './dispatcher.ts';

export interface ConnectionsOptions extends Pick<
  DispatcherOptions,
  'origin' | 'proxy' | 'tlsServerName' | 'skipTLSVerify' | 'connectTimeoutMs'
> {
  /** Most at a time, streams apart. */
  readonly connections: number;
  readonly silenceTimeoutMs: number;
}

/** Connections that were opened with the same TLS material. */
interface Pooled {
  readonly tls: TlsMaterial;
  readonly dispatcher: Dispatcher;
}

/** The connection of one stream. */
export interface StreamConnection {
  openedWith(tls: TlsMaterial): Dispatcher;
  /** Ends the stream, if it still goes on, and its connection. */
  release(): void;
}

/** The connections of one transport: a pool for requests, and one for each stream. */
export class Connections {
  readonly #options: ConnectionsOptions;
  #pool: Pooled | undefined;
  /** To be closed or destroyed: streams, and former pools on which a request still ends. */
  readonly #others = new Set<Dispatcher>();

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  /** Opens nothing by itself; another `tls` object retires the connections of the last. */
  openedWith(tls: TlsMaterial): Dispatcher {
    if (this.#pool?.tls === tls) return this.#pool.dispatcher;
    const { connections, silenceTimeoutMs, ...common } = this.#options;
    void this.closeIdle();
    const dispatcher = createDispatcher({
      ...common,
      tls,
      connections,
      headersTimeoutMs: silenceTimeoutMs,
      bodyTimeoutMs: silenceTimeoutMs,
    });
    this.#pool = { tls, dispatcher };
    return dispatcher;
  }

  /** Not of the pool: a watch must take no place in it, and undici reconnects after an abort. */
  forStream(): StreamConnection {
    const { silenceTimeoutMs, ...common } = this.#options;
    let current: Dispatcher | undefined;
    const release = (): void => {
      if (current === undefined) return;
      this.#others.delete(current);
      current.destroy().catch(() => {});
      current = undefined;
    };
    return {
      openedWith: (tls) => {
        release();
        const limits = { connections: 1, headersTimeoutMs: silenceTimeoutMs, bodyTimeoutMs: 0, maxResponseBytes: -1 };
        current = createDispatcher({ ...common, ...limits, tls });
        this.#others.add(current);
        return current;
      },
      release,
    };
  }

  /** Resolves when the requests under way have ended; streams go on. */
  async closeIdle(): Promise<void> {
    const dispatcher = this.#pool?.dispatcher;
    this.#pool = undefined;
    if (dispatcher === undefined) return;
    this.#others.add(dispatcher);
    try {
      await dispatcher.close();
    } catch {
      // Destroyed meanwhile.
    } finally {
      this.#others.delete(dispatcher);
    }
  }

  /** Ends whatever is under way. */
  async destroy(): Promise<void> {
    void this.closeIdle();
    await Promise.all([...this.#others].map((dispatcher) => dispatcher.destroy()));
  }
}
