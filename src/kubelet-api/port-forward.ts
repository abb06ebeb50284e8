import type { Duplex } from 'node:stream';
import type { Clock, Timer } from '../shared/clock.ts';
import { reasonOf } from '../shared/logger.ts';
import { HTTPError } from './http-error.ts';
import { acceptSPDY, isSPDY, serveSPDY, streamCreationTimeoutMs } from './spdy.ts';
import type { UpgradeRequest } from './streaming-proxy.ts';
import { acceptWebSocket, offeredProtocols } from './websocket-streams.ts';

/** Source: apimachinery `PortForwardV1Name`, `WebsocketsSPDYTunnelingPortForwardV1`. */
const protocol = 'portforward.k8s.io';
const tunnelProtocol = `SPDY/3.1+${protocol}`;

export interface PortForward {
  /** For errors that the client shows. */
  readonly podName: string;
  readonly podUID: string;
  /** Connects `stream` with a port of the pod. Resolves when the connection has ended. */
  readonly forward: (port: number, stream: Duplex, signal: AbortSignal) => Promise<void>;
}

/**
 * Forwards ports over SPDY, in a WebSocket or not. Resolves when the client's connection has ended. Rejects with an
 * `HTTPError` if the client has neither. A stream whose partner has not come within 30 s is ended, with an error for the
 * client. Source: cri-streaming `handleHTTPStreams`.
 *
 * Divergence: no `v4.channel.k8s.io`, which runtimes also support.
 */
export async function servePortForward(
  clock: Pick<Clock, 'afterFunc'>,
  upgrade: UpgradeRequest,
  { podName, podUID, forward }: PortForward,
): Promise<void> {
  const connection = await accept(upgrade);
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
    const aborted = new AbortController();
    data.once('close', () => aborted.abort());
    errors.resume();
    try {
      await forward(port, data, aborted.signal);
      errors.end();
      // What the client still sends must not keep other streams waiting.
      data.end().resume();
    } catch (error) {
      errors.end(`error forwarding port ${port} to pod ${podName}, uid ${podUID}: ${reasonOf(error)}`);
      data.destroy();
    }
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

async function accept(upgrade: UpgradeRequest): Promise<Duplex> {
  if (isSPDY(upgrade.request)) return acceptSPDY(upgrade, protocol);
  if (!offeredProtocols(upgrade.request).includes(tunnelProtocol))
    throw new HTTPError(501, `Only SPDY/3.1, or a WebSocket with the protocol ${tunnelProtocol}, is supported`);
  const { createWebSocketStream } = await import('ws');
  return createWebSocketStream(await acceptWebSocket(upgrade, [tunnelProtocol]));
}
