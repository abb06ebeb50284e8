import { connect, type Socket } from 'node:net';

/** A file descriptor of the container's process. */
export type StandardStream = 0 | 1 | 2;

/** A connection to the shim of a container. It ends when the shim has recorded the end of the container, or has died. */
export class ShimConnection {
  /** Resolves when the container has been started, or the connection has ended. */
  readonly started: Promise<void>;
  /** Resolves when the connection has ended, or `close` was called. */
  readonly ended: Promise<void>;
  readonly #socket: Socket;

  /** Resolves with undefined when no shim listens on the socket. */
  static open(path: string): Promise<ShimConnection | undefined> {
    return new Promise((resolve) => {
      const socket = connect(path);
      const connection = new ShimConnection(socket);
      socket.once('connect', () => resolve(connection));
      void connection.ended.then(() => resolve(undefined));
    });
  }

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('error', () => {}); // `close` follows
    this.ended = new Promise((resolve) => socket.once('close', () => resolve()));
    this.started = Promise.race([this.ended, new Promise<void>((resolve) => socket.once('data', () => resolve()))]);
  }

  /** Sends a signal to the process group of the container. */
  signal(name: NodeJS.Signals): void {
    this.#socket.write(`${name}\n`);
  }

  /** From now on, the connection is this stream of the container's process. Call it when `started` has resolved. */
  stream(number: StandardStream): Socket {
    this.#socket.write(String(number));
    return this.#socket;
  }

  close(): void {
    this.#socket.destroy();
  }
}
