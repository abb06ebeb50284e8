import type { Dispatcher } from 'undici';
import type { TlsMaterial } from './credentials.ts';
import type { DispatcherOptions } from './dispatcher.ts';
import { createDispatcher } from './dispatcher.ts';

export interface ConnectionsOptions extends Pick<
  DispatcherOptions,
  'origin' | 'proxy' | 'tlsServerName' | 'skipTLSVerify' | 'connectTimeoutMs'
> {
  /** Most at a time for requests. */
  readonly connections: number;
  readonly silenceTimeoutMs: number;
}

/** Connections that were opened with the same TLS material; those of streams keep nobody waiting. */
interface Opened {
  readonly tls: TlsMaterial;
  readonly requests: Dispatcher;
  readonly streams: Dispatcher;
}

/** The connections of one transport: the ones in use, and older ones on which something still ends. */
export class Connections {
  readonly #options: ConnectionsOptions;
  #opened: Opened | undefined;
  readonly #retired = new Set<Dispatcher>();

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  /** Opens nothing by itself; another `tls` object retires the connections of the last. */
  openedWith(tls: TlsMaterial): Opened {
    if (this.#opened?.tls === tls) return this.#opened;
    const { connections, silenceTimeoutMs, ...common } = this.#options;
    const either = { ...common, tls, headersTimeoutMs: silenceTimeoutMs };
    void this.closeIdle();
    this.#opened = {
      tls,
      requests: createDispatcher({ ...either, connections, bodyTimeoutMs: silenceTimeoutMs }),
      streams: createDispatcher({ ...either, connections: null, bodyTimeoutMs: 0, maxResponseBytes: -1 }),
    };
    return this.#opened;
  }

  /** Resolves when the requests under way have ended; streams may go on. */
  async closeIdle(): Promise<void> {
    const opened = this.#opened;
    this.#opened = undefined;
    if (opened === undefined) return;
    // A watch may go on for hours; its connection is closed when it ends.
    void this.#retire(opened.streams);
    await this.#retire(opened.requests);
  }

  /** Ends whatever is under way. */
  async destroy(): Promise<void> {
    void this.closeIdle();
    await Promise.all([...this.#retired].map((dispatcher) => dispatcher.destroy()));
  }

  async #retire(dispatcher: Dispatcher): Promise<void> {
    this.#retired.add(dispatcher);
    try {
      await dispatcher.close();
    } catch {
      // Destroyed meanwhile.
    } finally {
      this.#retired.delete(dispatcher);
    }
  }
}
