import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { promisify } from 'node:util';
import { type buildConnector, Dispatcher } from 'undici/index.js';
import type { Clock } from '../../shared/clock.ts';
import { APIError } from '../client/api-error.ts';
import { closedError } from './connection-queue.ts';
import type { Connecting } from './connector.ts';
import type { TlsMaterial } from './credentials.ts';
import { createDispatcher, type DestroyableDispatcher, type DispatcherOptions, http2Connector } from './dispatcher.ts';
import { HTTP2Request } from './http2-request.ts';
import { HTTP2Session } from './http2-session.ts';

interface SharedSessionsOptions {
  readonly clock: Pick<Clock, 'afterFunc' | 'yieldToEventLoop'>;
  /** Whether a session without requests is kept for the next one. */
  readonly keepAlive: boolean;
}

/** The protocol that the server chose. The first request over HTTP/1.1 takes the socket. */
type Chosen = { readonly protocol: 'HTTP/2' } | { readonly protocol: 'HTTP/1.1'; socket: Socket | undefined };

/**
 * HTTP/2 sessions for the watches and heartbeats of many nodes in one process, shared by all dispatchers with the same
 * TLS options. Other requests stay on HTTP/1.1, where each takes less CPU time.
 * Why undici's `allowH2` does not replace them: docs/internals/architecture.md, design decisions.
 */
export class SharedSessions {
  readonly #options: SharedSessionsOptions;
  readonly #sessions = new Set<HTTP2Session>();
  readonly #connecting: Connecting = new Set();
  /** The connection attempt that all requests wait for. */
  #attempt: { readonly tls: TlsMaterial; readonly chosen: Promise<Chosen> } | undefined;
  #isClosed = false;

  constructor(options: SharedSessionsOptions) {
    this.#options = options;
  }

  /**
   * Sends over a session with the same TLS options, or over HTTP/1.1 connections of its own when the server chooses
   * that.
   */
  createDispatcher(options: DispatcherOptions): DestroyableDispatcher {
    const { tls, bodyTimeoutMs, headersTimeoutMs } = options;
    let http1: DestroyableDispatcher | undefined;
    let isDestroyed = false;
    const dispatch = (request: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean => {
      const send = async (): Promise<void> => {
        while (http1 === undefined) {
          const session = [...this.#sessions].find((one) => one.tls === tls && one.isFree);
          if (session !== undefined) return session.send(http2Request);
          const chosen = await this.#connectOnce(options);
          if (isDestroyed) throw new APIError('the request has been given up', { kind: 'aborted' });
          if (chosen.protocol === 'HTTP/2') continue;
          http1 ??= createDispatcher(options, chosen.socket);
          chosen.socket = undefined;
        }
        http1.dispatcher.dispatch(request, handler);
      };
      const start = (): void => void send().catch((error: unknown) => http2Request.fail(error));
      const http2Request = new HTTP2Request({ ...request, bodyTimeoutMs, headersTimeoutMs }, handler, start);
      start();
      return true;
    };
    const close = async (): Promise<void> => http1?.dispatcher.close();
    return {
      // `compose` converts handlers to the interface that has a controller.
      dispatcher: Object.assign(new Dispatcher(), { dispatch, close }).compose((next) => next),
      async destroy() {
        isDestroyed = true;
        await http1?.destroy();
      },
    };
  }

  /** Ends each session as soon as it has no requests. */
  closeIdle(): void {
    for (const session of this.#sessions) session.endWhenIdle();
  }

  /** Ends all sessions with their requests. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const socket of this.#connecting) socket.destroy(closedError());
    await Promise.all([...this.#sessions].map((session) => session.end()));
  }

  #connectOnce(options: DispatcherOptions): Promise<Chosen> {
    const { tls } = options;
    if (this.#attempt?.tls !== tls) {
      const chosen = this.#connect(options).finally(() => {
        if (this.#attempt?.chosen === chosen) this.#attempt = undefined;
      });
      this.#attempt = { tls, chosen };
    }
    return this.#attempt.chosen;
  }

  /** Resolves with HTTP/2 when another session takes requests. */
  async #connect(options: DispatcherOptions): Promise<Chosen> {
    const { hostname, host, port, protocol } = new URL(options.origin);
    const connect = promisify(http2Connector(options, this.#connecting)) as (
      target: buildConnector.Options,
    ) => Promise<TLSSocket>;
    const socket = await connect({ hostname, host, port, protocol });
    if (this.#isClosed) {
      socket.destroy();
      throw closedError();
    }
    if (socket.alpnProtocol !== 'h2') {
      const chosen: Chosen = { protocol: 'HTTP/1.1', socket };
      // The requests that waited for the socket may have been aborted.
      void this.#options.clock.yieldToEventLoop().then(() => chosen.socket?.destroy());
      return chosen;
    }
    const session = new HTTP2Session(socket, { ...options, ...this.#options });
    this.#sessions.add(session);
    void session.closed.then(() => this.#sessions.delete(session));
    await session.ready;
    return { protocol: 'HTTP/2' };
  }
}
