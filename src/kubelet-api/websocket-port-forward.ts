import { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { Clock, Timer } from '../shared/clock.ts';
import { forwardPort, type PortForward } from './forward-port.ts';
import { onChannelMessage, sendOnChannel } from './websocket-streams.ts';

/** How long a pod may continue to read the client's data after the client has closed the connection. */
const lingerMs = 30_000;
/** The connection was lost. Source: RFC 6455, 7.4.1 */
const abnormalClosure = 1006;

/**
 * Forwards ports over pairs of channels, one for data and one for an error: the first byte of each message is the channel, and
 * the first message of each channel is its port. Resolves when the connection has ended. It is closed when the last port has
 * been disconnected. Source: cri-streaming `handleWebSocketStreams`.
 *
 * Divergence: no `v4.base64.channel.k8s.io`, and no WebSocket without a protocol. The kubelet sets no limit after the client has
 * closed the connection.
 *
 * @param ports 128 at most
 */
export async function servePortForwardOverChannels(
  clock: Pick<Clock, 'afterFunc'>,
  webSocket: WebSocket,
  ports: readonly number[],
  pod: PortForward,
): Promise<void> {
  const closed = new Promise<void>((resolve) => webSocket.once('close', () => resolve()));
  const send = (channel: number, content: Uint8Array, done = (): void => {}): void =>
    sendOnChannel(webSocket, channel, content, done);
  /** Those whose pods do not read. They keep the others waiting, as in the kubelet. */
  const full = new Set<Duplex>();
  const hasRoom = (stream: Duplex): void => {
    if (full.delete(stream) && full.size === 0) webSocket.resume();
  };
  const streams = ports.map((_port, index) => {
    const stream: Duplex = new Duplex({
      read: () => hasRoom(stream),
      // The client has disconnected. The pod may still read its data.
      write: (chunk: Buffer, _encoding, done) => send(2 * index, chunk, () => done()),
      destroy: (error, done) => {
        hasRoom(stream);
        done(error);
      },
    });
    return stream.on('error', () => {});
  });
  onChannelMessage(webSocket, (channel, content) => {
    // Others are the server's.
    const stream = streams[channel / 2];
    if (stream === undefined || stream.destroyed || stream.push(content)) return;
    full.add(stream);
    webSocket.pause();
  });
  const disconnect = (): void => {
    for (const stream of streams) stream.destroy();
  };
  let linger: Timer | undefined;
  webSocket.once('close', (code) => {
    if (code === abnormalClosure) return disconnect();
    linger = clock.afterFunc(lingerMs, disconnect);
    for (const stream of streams.filter(({ destroyed }) => !destroyed)) stream.push(null);
  });
  const connect = async (stream: Duplex, index: number): Promise<void> => {
    const port = ports[index]!;
    for (const channel of [2 * index, 2 * index + 1]) send(channel, Uint8Array.of(port % 256, port >> 8));
    const error = await forwardPort(pod, port, stream);
    if (error !== undefined) send(2 * index + 1, Buffer.from(error));
    // What the client still sends must not keep other ports waiting.
    stream.resume();
    await new Promise<unknown>((resolve) => stream.end(resolve));
  };
  await Promise.all(streams.map(connect));
  webSocket.close();
  await closed;
  linger?.stop();
}
