import { type ClientHttp2Session, connect } from 'node:http2';
import type { Socket } from 'node:net';
import type { Clock, Timer } from '../../shared/clock.ts';
import { connectionError } from './connector.ts';
import type { TlsMaterial } from './credentials.ts';
import { KEEP_ALIVE_MS } from './dispatcher.ts';
import type { HTTP2Request } from './http2-request.ts';

/** The maximum number of watches that are lost with one connection; also kube-apiserver's default limit. */
const maxStreams = 100;
/**
 * A session that received nothing for two intervals is pinged, and it is ended if nothing arrives in a third one.
 * Source: client-go `ReadIdleTimeout`, `PingTimeout`.
 */
const checkIntervalMs = 15_000;
const [checksUntilPing, checksUntilEnd] = [2, 3];
/**
 * The number of unread bytes that the server may send for one stream, and for all. Node updates the connection's window
 * when data arrives and a stream's window when it is read, so a slow reader delays only its own stream.
 */
const [streamWindowBytes, sessionWindowBytes] = [256 * 1024, 4 * 1024 * 1024];

/**
 * A connection that carries many requests, over the socket of a server that chose HTTP/2. It is pinged while it has
 * requests. Without requests, it does not keep the process alive, and it ends immediately or after `KEEP_ALIVE_MS`.
 */
export class HTTP2Session {
  readonly tls: TlsMaterial;
  /** Resolves when the server has sent its limit of streams; rejects if it has not within the connect timeout. */
  readonly ready: Promise<void>;
  /** Resolves when the socket is closed. */
  readonly closed: Promise<void>;
  readonly #clock: Pick<Clock, 'afterFunc'>;
  readonly #socket: Socket;
  readonly #session: ClientHttp2Session;
  #endsWhenIdle: boolean;
  #isReady = false;
  #isRetired = false;
  #streams = 0;
  #check: Timer | undefined;

  constructor(
    socket: Socket,
    options: {
      readonly origin: string;
      readonly tls: TlsMaterial;
      readonly connectTimeoutMs: number;
      /** Whether it is kept without requests. */
      readonly keepAlive: boolean;
      readonly clock: Pick<Clock, 'afterFunc'>;
    },
  ) {
    this.tls = options.tls;
    this.#clock = options.clock;
    this.#socket = socket;
    this.#endsWhenIdle = !options.keepAlive;
    const settings = { enablePush: false, initialWindowSize: streamWindowBytes };
    const session = connect(options.origin, { createConnection: () => socket, settings });
    this.#session = session;
    this.closed = new Promise((resolve) => socket.once('close', resolve));
    session.on('error', () => {}); // its streams fail with it
    session.once('connect', () => session.setLocalWindowSize(sessionWindowBytes));
    session.once('goaway', () => this.retire());
    session.on('timeout', () => {
      if (this.#streams === 0) void this.end();
    });
    session.setTimeout(options.connectTimeoutMs);
    this.ready = new Promise((resolve, reject) => {
      session.once('remoteSettings', () => {
        if (session.closed) return;
        this.#isReady = true;
        this.#keepAlive();
        resolve();
      });
      session.once('close', () => {
        this.#check?.stop();
        reject(connectionError('ERR_HTTP2_SESSION', 'the connection was closed before the HTTP/2 settings'));
      });
    });
  }

  /** Whether it takes another request. */
  get isFree(): boolean {
    const { closed, destroyed, remoteSettings } = this.#session;
    if (closed || destroyed || this.#isRetired || !this.#isReady) return false;
    return this.#streams < Math.max(1, Math.min(maxStreams, remoteSettings.maxConcurrentStreams ?? maxStreams));
  }

  send(request: HTTP2Request): void {
    const stream = request.send(this.#session, () => this.retire());
    if (stream === undefined) return;
    if (this.#streams++ === 0) {
      this.#session.ref();
      this.#checkAfter(0);
    }
    stream.once('close', () => {
      this.#streams--;
      if (this.#streams > 0) return;
      this.#check?.stop();
      if (this.#isRetired || this.#endsWhenIdle) void this.end();
      else this.#keepAlive();
    });
  }

  /** Takes no more requests, and ends when its last request has ended. */
  retire(): void {
    this.#isRetired = true;
    if (this.#streams === 0 && this.#isReady) void this.end();
  }

  /** Ends it as soon as it has no requests. */
  endWhenIdle(): void {
    this.#endsWhenIdle = true;
    if (this.#streams === 0 && this.#isReady) void this.end();
  }

  /** Its requests fail. Resolves when its socket is closed. */
  end(error?: Error): Promise<void> {
    this.#session.destroy(error);
    // A session that is closing would otherwise wait for the server, which may be unreachable.
    this.#socket.destroy();
    return this.closed;
  }

  #keepAlive(): void {
    this.#session.setTimeout(KEEP_ALIVE_MS);
    this.#session.unref();
  }

  #checkAfter(silentChecks: number): void {
    const { bytesRead } = this.#socket;
    this.#check = this.#clock.afterFunc(checkIntervalMs, () => {
      if (this.#session.destroyed) return;
      const silent = this.#socket.bytesRead === bytesRead ? silentChecks + 1 : 0;
      if (silent === checksUntilPing) this.#session.ping(() => {});
      if (silent < checksUntilEnd) this.#checkAfter(silent);
      else void this.end(connectionError('ERR_HTTP2_PING_TIMEOUT', 'no answer to a ping'));
    });
  }
}
