import type { IncomingMessage } from 'node:http';
import type { Clock, Timer } from '../shared/clock.ts';
import { type PortForward, forwardPort } from './forward-port.ts';
import { HTTPError } from './http-error.ts';
import { acceptSPDY, isSPDY, serveSPDY, streamCreationTimeoutMs } from './spdy.ts';
import type { UpgradeRequest } from './streaming-proxy.ts';
import { acceptWebSocket, offeredProtocols, onChannelMessage, sendOnChannel } from './websocket-streams.ts';
import { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';

/** Source: apimachinery `PortForwardV1Name`, `WebsocketsSPDYTunnelingPortForwardV1`. */
const spdyProtocol = 'portforward.k8s.io';
const tunnelProtocol = `SPDY/3.1+${spdyProtocol}`;
/** Source: cri-streaming `v4BinaryWebsocketProtocol`. */
const channelProtocol = 'v4.channel.k8s.io';
/** A port has two channels, and a channel is a byte. */
const maxPorts = 128;

/**
 * Forwards ports over SPDY, with or without a WebSocket (kubectl), or over channels of a WebSocket (client-node). Resolves
 * when the client's connection has ended. Rejects with an `HTTPError` for another protocol. A WebSocket needs the package `ws`.
 * Source: cri-streaming `ServePortForward`.
 *
 * @param ports the ports in the URL, for channels; over SPDY, each stream names its port
 */
export async function servePortForward(
  clock: Pick<Clock, 'afterFunc'>,
  upgrade: UpgradeRequest,
  ports: readonly number[],
  pod: PortForward,
): Promise<void> {
  const { request } = upgrade;
  if (isSPDY(request)) return servePortForwardOverSPDY(clock, acceptSPDY(upgrade, spdyProtocol), pod);
  if (isTunnel(request)) {
    const { createWebSocketStream } = await import('ws');
    const tunnel = createWebSocketStream(await acceptWebSocket(upgrade, [tunnelProtocol]));
    return servePortForwardOverSPDY(clock, tunnel, pod);
  }
  if (!offeredProtocols(request).includes(channelProtocol)) {
    const webSockets = `a WebSocket with the protocol ${tunnelProtocol} or ${channelProtocol}`;
    throw new HTTPError(501, `Only SPDY/3.1, or ${webSockets}, is supported`);
  }
  if (ports.length > maxPorts) throw new HTTPError(400, `query parameter "port" has more than ${maxPorts} values`);
  return servePortForwardOverChannels(clock, await acceptWebSocket(upgrade, [channelProtocol]), ports, pod);
}

/** True for SPDY in a WebSocket. */
export function isTunnel(request: IncomingMessage): boolean {
  return offeredProtocols(request).includes(tunnelProtocol);
}

/**
 * Forwards ports over pairs of streams, one for data and one for an error. Resolves when the connection has ended. If the
 * second stream of a pair does not arrive within 30 s, the first is ended, with an error for the client. Source: cri-streaming `handleHTTPStreams`.
 */
async function servePortForwardOverSPDY(
  clock: Pick<Clock, 'afterFunc'>,
  connection: Duplex,
  pod: PortForward,
): Promise<void> {
  const waiting = new Map<string, { readonly stream: Duplex; readonly timer: Timer }>();
  const take = (key: string): Duplex | undefined => {
    const found = waiting.get(key);
    found?.timer.stop();
    waiting.delete(key);
    return found?.stream;
  };
  const wait = (type: string, key: string, stream: Duplex): void => {
    const timer = clock.afterFunc(streamCreationTimeoutMs, () => {
      take(key);
      if (type === 'error') stream.end('timed out waiting for streams', () => stream.destroy());
      else stream.destroy();
    });
    waiting.set(key, { stream, timer });
    stream.once('close', () => {
      if (waiting.get(key)?.stream === stream) take(key);
    });
  };
  const connect = async (port: number, data: Duplex, errors: Duplex): Promise<void> => {
    errors.resume();
    const error = await forwardPort(pod, port, data);
    errors.end(error);
    // Unread data of this stream would block the other streams of the connection.
    if (error === undefined) data.end().resume();
    else data.destroy();
  };
  await serveSPDY(connection, (headers, stream) => {
    const port = Number(headers.get('port'));
    const [type = '', requestID = ''] = [headers.get('streamtype'), headers.get('requestid')];
    const key = `${type} ${requestID}`;
    const partnerKey = `${type === 'data' ? 'error' : 'data'} ${requestID}`;
    const isValid = /^(data|error)$/.test(type) && Number.isInteger(port) && port >= 1 && port <= 65_535;
    if (!isValid || waiting.has(key)) return void stream.destroy();
    const partner = take(partnerKey);
    if (partner === undefined) return wait(type, key, stream);
    return void (type === 'data' ? connect(port, stream, partner) : connect(port, partner, stream));
  });
}

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
async function servePortForwardOverChannels(
  clock: Pick<Clock, 'afterFunc'>,
  webSocket: WebSocket,
  ports: readonly number[],
  pod: PortForward,
): Promise<void> {
  const closed = new Promise<void>((resolve) => webSocket.once('close', () => resolve()));
  const send = (channel: number, content: Uint8Array, done = (): void => {}): void =>
    sendOnChannel(webSocket, channel, content, done);
  /** Streams whose pods do not read. They block the others, as in the kubelet. */
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
    // The odd channels belong to the server.
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
    // Data that the client still sends must not block other ports.
    stream.resume();
    await new Promise<unknown>((resolve) => stream.end(resolve));
  };
  await Promise.all(streams.map(connect));
  webSocket.close();
  await closed;
  linger?.stop();
}
