import type { IncomingMessage } from 'node:http';
import type { Clock } from '../shared/clock.ts';
import type { PortForward } from './forward-port.ts';
import { HTTPError } from './http-error.ts';
import { acceptSPDY, isSPDY } from './spdy.ts';
import { servePortForwardOverSPDY } from './spdy-port-forward.ts';
import type { UpgradeRequest } from './streaming-proxy.ts';
import { servePortForwardOverChannels } from './websocket-port-forward.ts';
import { acceptWebSocket, offeredProtocols } from './websocket-streams.ts';

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
