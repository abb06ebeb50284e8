import { once } from 'node:events';
import { WebSocket } from 'ws';
import type { TestServer } from './test-server.ts';

/** A client of exec, attach or port-forward. */
export class WebSocketClient {
  readonly socket: WebSocket;
  readonly #received: Buffer[] = [];

  constructor(server: TestServer, path: string, protocol: string | string[] = 'v5.channel.k8s.io') {
    this.socket = new WebSocket(`wss://127.0.0.1:${server.port}${path}`, protocol, {
      headers: { authorization: 'Bearer admin-token' },
      rejectUnauthorized: false,
    });
    // Channels are bytes: a message of text would be none of them.
    this.socket.on('message', (data: Buffer, isBinary: boolean) => isBinary && this.#received.push(data));
  }

  async open(): Promise<this> {
    await once(this.socket, 'open');
    return this;
  }

  send(channel: number, content: string | Uint8Array): void {
    this.socket.send(Buffer.concat([Buffer.from([channel]), Buffer.from(content)]));
  }

  text(channel: number, encoding?: 'latin1'): string {
    const messages = this.#received.filter((message) => message[0] === channel);
    return Buffer.concat(messages.map((message) => message.subarray(1))).toString(encoding);
  }

  /** The status that the server sends before it closes the connection. */
  async status(): Promise<object> {
    if (this.socket.readyState !== WebSocket.CLOSED) await once(this.socket, 'close');
    return JSON.parse(this.text(3)) as object;
  }
}
