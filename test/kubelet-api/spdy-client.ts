import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { constants, createDeflate } from 'node:zlib';
import { createWebSocketStream, WebSocket } from 'ws';
import { headerDictionary } from '../../src/kubelet-api/spdy.ts';
import type { TestServer } from './test-server.ts';

/** What the server has sent for a stream. */
interface Received {
  text: string;
  isReplied: boolean;
  isEnded: boolean;
  /** The status of a RST_STREAM. */
  reset?: number;
}

/** A client of SPDY/3.1 that sends what a test says, valid or not. */
export class SPDYClient {
  readonly connection: Duplex;
  readonly pings: string[] = [];
  readonly #streams = new Map<number, Received>();
  readonly #deflate = createDeflate({ dictionary: headerDictionary });
  #rest: Buffer = Buffer.alloc(0);
  #nextID = 1;

  constructor(connection: Duplex) {
    this.connection = connection.on('error', () => {});
    connection.on('data', (chunk: Buffer) => this.#read(chunk));
  }

  static async connect(server: TestServer, path: string, protocol = 'portforward.k8s.io'): Promise<SPDYClient> {
    const headers = { connection: 'Upgrade', upgrade: 'SPDY/3.1', 'x-stream-protocol-version': protocol };
    const request = server.request(path, { token: 'admin-token', headers, method: 'POST' }).end();
    const [, socket] = (await once(request, 'upgrade')) as [IncomingMessage, Duplex];
    return new SPDYClient(socket);
  }

  static async tunnel(server: TestServer, path: string): Promise<SPDYClient> {
    const protocol = 'SPDY/3.1+portforward.k8s.io';
    const webSocket = new WebSocket(`wss://127.0.0.1:${server.port}${path}`, {
      headers: { authorization: 'Bearer admin-token', 'sec-websocket-protocol': protocol },
      rejectUnauthorized: false,
    });
    // `ws` has no names with a slash.
    webSocket.once('upgrade', ({ headers }) => {
      if (headers['sec-websocket-protocol'] === protocol) delete headers['sec-websocket-protocol'];
    });
    await once(webSocket, 'open');
    return new SPDYClient(createWebSocketStream(webSocket));
  }

  /** Resolves when the connection has ended, in whatever way. */
  get closed(): Promise<unknown> {
    return new Promise((resolve) => this.connection.once('close', resolve));
  }

  stream(id: number): Received {
    const found = this.#streams.get(id) ?? { text: '', isReplied: false, isEnded: false };
    this.#streams.set(id, found);
    return found;
  }

  /** Resolves with the ID of the stream. */
  async open(headers: Readonly<Record<string, string>>): Promise<number> {
    const id = this.#nextID;
    this.#nextID += 2;
    const words = Object.entries(headers).flat();
    const lengths = words.map((word) => [uint32(word.length), Buffer.from(word)]);
    await this.openRaw(id, await this.deflate(Buffer.concat([uint32(words.length / 2), ...lengths.flat()])));
    return id;
  }

  openRaw(id: number, block: Buffer): Promise<void> {
    return this.send(
      Buffer.concat([uint32(0x8003_0001), uint32(10 + block.length), uint32(id), Buffer.alloc(6), block]),
    );
  }

  /** Opens both streams of a connection to a port, as kubectl does. Resolves with their IDs. */
  async forward(port: number | string, requestID = '0'): Promise<{ readonly errors: number; readonly data: number }> {
    const errors = await this.open({ Streamtype: 'error', Port: String(port), Requestid: requestID });
    await this.data(errors, '', true);
    const data = await this.open({ Streamtype: 'data', Port: String(port), Requestid: requestID });
    return { errors, data };
  }

  data(id: number, content: string | Buffer, isLast = false): Promise<void> {
    const length = Buffer.byteLength(content) + (isLast ? 0x100_0000 : 0);
    return this.send(Buffer.concat([uint32(id), uint32(length), Buffer.from(content)]));
  }

  reset(id: number): Promise<void> {
    return this.send(Buffer.concat([uint32(0x8003_0003), uint32(8), uint32(id), uint32(5)]));
  }

  ping(id: number): Promise<void> {
    return this.send(Buffer.concat([uint32(0x8003_0006), uint32(4), uint32(id)]));
  }

  send(frame: Buffer): Promise<void> {
    return new Promise((resolve) => this.connection.write(frame, () => resolve()));
  }

  async deflate(block: Buffer): Promise<Buffer> {
    this.#deflate.write(block);
    await new Promise<void>((resolve) => this.#deflate.flush(constants.Z_SYNC_FLUSH, () => resolve()));
    return this.#deflate.read() as Buffer;
  }

  #read(chunk: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    for (;;) {
      const length = this.#rest.length < 8 ? Number.POSITIVE_INFINITY : this.#rest.readUIntBE(5, 3);
      if (this.#rest.length < 8 + length) return;
      const [head, payload] = [this.#rest.subarray(0, 8), this.#rest.subarray(8, 8 + length)];
      this.#rest = this.#rest.subarray(8 + length);
      const type = head[0]! >= 0x80 ? head.readUInt16BE(2) : 0;
      const stream = this.stream(type === 0 ? head.readUInt32BE(0) : payload.readUInt32BE(0));
      if (type === 0) stream.text += payload.toString();
      if (type === 0 && head[4] === 1) stream.isEnded = true;
      if (type === 2) stream.isReplied = true;
      if (type === 3) stream.reset = payload.readUInt32BE(4);
      if (type === 6) this.pings.push(payload.toString('hex'));
    }
  }
}

export function uint32(value: number): Buffer {
  const buffer = Buffer.alloc(4);
  buffer.writeUInt32BE(value);
  return buffer;
}
