import type { IncomingMessage } from 'node:http';
import { type Duplex, PassThrough, Writable } from 'node:stream';
import type { RawData, WebSocket } from 'ws';
import type { ContainerIO, StreamOptions, TerminalSize } from '../node/index.ts';
import { HTTPError } from './http-error.ts';
import { sizeOf, statusOfRun, type StreamedCommand } from './streamed-command.ts';
import type { UpgradeRequest } from './streaming-proxy.ts';

/** Newest first. Source: apimachinery `remotecommand` */
const protocols = ['v5.channel.k8s.io', 'v4.channel.k8s.io'];
/** The first byte of each message. Source: apimachinery `remotecommand.StreamStdIn` and the others */
const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;
const maxMessageBytes = 1024 * 1024;

/** @throws HTTPError 501 if the client does not offer a protocol over WebSockets */
export function requireWebSocket(request: IncomingMessage): void {
  const isWebSocket = request.headers.upgrade?.toLowerCase() === 'websocket';
  if (isWebSocket && offeredProtocols(request).some((name) => protocols.includes(name))) return;
  throw new HTTPError(501, `Only SPDY/3.1, or WebSockets with the protocol ${protocols.join(' or ')}, are supported`);
}

/**
 * Runs a command whose streams are channels of a WebSocket. Resolves when the connection has ended. Needs the package `ws`.
 * Source: cri-streaming `createWebSocketStreams`.
 */
export async function serveWebSocket(
  upgrade: UpgradeRequest,
  { streams, signal, run }: StreamedCommand,
): Promise<void> {
  const webSocket = await acceptWebSocket(upgrade, protocols);
  const channelsOfClient = new Channels(webSocket, upgrade.socket, streams);
  await channelsOfClient.end(await statusOfRun(run(channelsOfClient.io, signal)));
}

/** The protocols of WebSockets that the client offers. */
export function offeredProtocols({ headers }: IncomingMessage): string[] {
  return (headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim());
}

/** Upgrades to the first of the protocols that the client also offers. Needs the package `ws`. */
export async function acceptWebSocket(
  { request, socket, head }: UpgradeRequest,
  supported: readonly string[],
): Promise<WebSocket> {
  const { WebSocketServer } = await import('ws');
  const server = new WebSocketServer({ noServer: true, maxPayload: maxMessageBytes });
  // Not `handleProtocols`: `ws` refuses names with a slash.
  const offered = offeredProtocols(request);
  server.on('headers', (lines) => {
    lines.push(`Sec-WebSocket-Protocol: ${supported.find((name) => offered.includes(name))}`);
  });
  delete request.headers['sec-websocket-protocol'];
  return new Promise((resolve, reject) => {
    socket.once('close', () => reject(new Error('The client is gone')));
    server.handleUpgrade(request, socket, head, resolve);
  });
}

/** Each message begins with its channel, a byte; empty ones are ignored. After an error, the connection is closed. */
export function onChannelMessage(webSocket: WebSocket, listener: (channel: number, content: Buffer) => void): void {
  webSocket.on('error', () => webSocket.terminate());
  webSocket.on('message', (data: RawData) => {
    const message = Buffer.isBuffer(data) ? data : Buffer.concat(data as Buffer[]);
    const [channel] = message;
    if (channel !== undefined) listener(channel, message.subarray(1));
  });
}

/** @param done called when it is written, or with an error when the connection is closed */
export function sendOnChannel(
  webSocket: WebSocket,
  channel: number,
  content: Uint8Array,
  done: (error?: Error | null) => void,
): void {
  webSocket.send(Buffer.concat([Buffer.from([channel]), content]), { binary: true }, done);
}

/** The streams of one connection. */
class Channels {
  readonly io: ContainerIO;
  readonly #webSocket: WebSocket;
  readonly #closed: Promise<void>;
  readonly #outputs: Writable[] = [];

  constructor(webSocket: WebSocket, socket: Duplex, { stdin, stdout, stderr, tty }: StreamOptions) {
    this.#webSocket = webSocket;
    this.#closed = new Promise((resolve) => webSocket.once('close', () => resolve()));
    const input = stdin ? new PassThrough() : undefined;
    const resizeListeners: ((size: TerminalSize) => void)[] = [];
    onChannelMessage(webSocket, (channel, content) => {
      switch (channel) {
        case channels.stdin:
          if (input === undefined || input.destroyed || input.writableEnded || input.write(content)) return;
          webSocket.pause();
          input.once('drain', () => webSocket.resume());
          return;
        case channels.close:
          if (content[0] === channels.stdin) input?.end();
          return;
        case channels.resize: {
          const size = sizeOf(content);
          if (size !== undefined) for (const listener of resizeListeners) listener(size);
          return;
        }
        default:
          // Other channels are for the client.
          return;
      }
    });
    void this.#closed.then(() => input?.end());
    socket.once('close', () => input?.end());
    this.io = {
      tty,
      stdin: input,
      stdout: stdout ? this.#output(channels.stdout) : undefined,
      stderr: stderr ? this.#output(channels.stderr) : undefined,
      onResize: (listener) => void resizeListeners.push(listener),
    };
  }

  /** Sends the outcome after all output, and closes the connection. */
  async end(status: object): Promise<void> {
    await Promise.all(this.#outputs.filter(({ destroyed }) => !destroyed).map(endOf));
    // Unread input would keep the closing of the connection from being read.
    this.io.stdin?.destroy();
    this.#webSocket.resume();
    const sent = Buffer.from(JSON.stringify(status));
    sendOnChannel(this.#webSocket, channels.error, sent, () => this.#webSocket.close(1000));
    await this.#closed;
  }

  #output(channel: number): Writable {
    const output = new Writable({
      write: (chunk: Buffer, _encoding, done) => sendOnChannel(this.#webSocket, channel, chunk, done),
    });
    // A disconnected client is not an error of the command.
    output.on('error', () => {});
    this.#outputs.push(output);
    return output;
  }
}

function endOf(output: Writable): Promise<void> {
  return new Promise((resolve) => {
    output.once('error', () => resolve());
    output.end(() => resolve());
  });
}
