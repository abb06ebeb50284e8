import type { Duplex } from 'node:stream';
import type { Clock, Timer } from '../shared/clock.ts';
import { forwardPort, type PortForward } from './forward-port.ts';
import { serveSPDY, streamCreationTimeoutMs } from './spdy.ts';

/**
 * Forwards ports over pairs of streams, one for data and one for an error. Resolves when the connection has ended. If the
 * second stream of a pair does not arrive within 30 s, the first is ended, with an error for the client. Source: cri-streaming `handleHTTPStreams`.
 */
export async function servePortForwardOverSPDY(
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
