import type { Socket } from 'node:net';

/**
 * Bounds the connections of a server: when one more is opened, the one that was used least recently is destroyed, so
 * that a new client is always served. A TLS connection and the TCP connection below it count as one.
 */
export class ConnectionLimit {
  readonly #max: number;
  readonly #onEvict: () => void;
  /** Least recently used first. */
  readonly #sockets = new Map<string, Socket>();
  /** They do not count, and are not destroyed. */
  readonly #exempt = new Map<string, Socket>();

  constructor(max: number, onEvict: () => void) {
    this.#max = max;
    this.#onEvict = onEvict;
  }

  /** Counts a new TCP connection until it is closed. */
  add(socket: Socket): void {
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

  /** Does not count the connection until it is used again. */
  exempt(connection: Socket): void {
    const key = keyOf(connection);
    const socket = this.#sockets.get(key);
    if (socket === undefined) return;
    this.#sockets.delete(key);
    this.#exempt.set(key, socket);
  }

  #evict(): void {
    if (this.#sockets.size <= this.#max) return;
    for (const [key, oldest] of this.#sockets) {
      this.#sockets.delete(key);
      oldest.destroy();
      this.#onEvict();
      return;
    }
  }
}

function keyOf({ localAddress, remoteAddress, remotePort }: Socket): string {
  return `${localAddress} ${remoteAddress} ${remotePort}`;
}
