import type { AddressInfo, Server, Socket } from 'node:net';
import type { Clock } from './clock.ts';
import type { Logger } from './logger.ts';
import { PeriodicWarning } from './periodic-warning.ts';

export interface ConnectionLimitOptions {
  readonly maxConnections: number;
  /** Maximum number of exempt connections, see `exempt`. Default: `maxConnections`. */
  readonly maxExempt?: number;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly logger: Pick<Logger, 'warn'>;
}

/**
 * Bounds the connections of a server: when one more is opened, the one that was used least recently is destroyed, so
 * that a new client is always served. A TLS connection and the TCP connection below it count as one.
 */
export class ConnectionLimit {
  readonly #server: Server;
  readonly #maxConnections: number;
  readonly #maxExempt: number;
  readonly #tooMany: PeriodicWarning;
  /** Least recently used first. */
  readonly #sockets = new Map<string, Socket>();
  /** Connections that do not count and are not destroyed. */
  readonly #exempt = new Map<string, Socket>();

  /** @param server does not listen yet */
  constructor(server: Server, { maxConnections, maxExempt = maxConnections, clock, logger }: ConnectionLimitOptions) {
    this.#server = server;
    this.#maxConnections = maxConnections;
    this.#maxExempt = maxExempt;
    const message = 'Too many connections: those that were used least recently are closed';
    this.#tooMany = new PeriodicWarning(message, { clock, logger });
    server.on('connection', (socket: Socket) => this.#add(socket));
  }

  /** Resolves when the server has stopped listening and has no connection, not even one in its TLS handshake. */
  async closeServer(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const sockets of [this.#sockets, this.#exempt]) for (const socket of sockets.values()) socket.destroy();
    await closed;
  }

  /** Counts a new TCP connection until it is closed. */
  #add(socket: Socket): void {
    const key = keyOf(socket);
    socket.once('close', () => {
      for (const map of [this.#sockets, this.#exempt]) if (map.get(key) === socket) map.delete(key);
    });
    this.#sockets.set(key, socket);
    this.#evict();
  }

  /** The connection was used now. */
  use(connection: Socket): void {
    const key = keyOf(connection);
    const socket = this.#sockets.get(key) ?? this.#exempt.get(key);
    if (socket === undefined) return;
    this.#exempt.delete(key);
    this.#sockets.delete(key);
    this.#sockets.set(key, socket);
    this.#evict();
  }

  /** Does not count the connection until it is used again. False if there are too many of these already. */
  exempt(connection: Socket): boolean {
    const key = keyOf(connection);
    const socket = this.#sockets.get(key);
    if (socket === undefined) return true;
    if (this.#exempt.size >= this.#maxExempt) return false;
    this.#sockets.delete(key);
    this.#exempt.set(key, socket);
    return true;
  }

  #evict(): void {
    if (this.#sockets.size <= this.#maxConnections) return;
    for (const [key, oldest] of this.#sockets) {
      this.#sockets.delete(key);
      oldest.destroy();
      const port = (this.#server.address() as AddressInfo | null)?.port;
      this.#tooMany.warn({ port, maxConnections: this.#maxConnections });
      return;
    }
  }
}

function keyOf({ localAddress, remoteAddress, remotePort }: Socket): string {
  return `${localAddress} ${remoteAddress} ${remotePort}`;
}
