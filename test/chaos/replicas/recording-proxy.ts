import type { IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { type Forwarding, HTTPProxy, type HTTPProxyOptions } from '../../support/http-proxy.ts';

/** A request of a replica that is no GET. Times are milliseconds since 1970. */
export interface RecordedWrite {
  readonly replica: string;
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  readonly startMs: number;
  /** When the server had responded, or the connection had ended. */
  endMs: number | undefined;
  status: number | undefined;
}

export interface RecordingProxyOptions extends Pick<HTTPProxyOptions, 'ca' | 'target'> {
  readonly replica: string;
  /** Where the writes are added, in order of their arrival. */
  readonly writes: RecordedWrite[];
}

/** Milliseconds since 1970, finer than those of `Date.now()`. */
function preciseNow(): number {
  return performance.timeOrigin + performance.now();
}

/** A proxy between one replica and a server. A write is passed on even if the replica does not wait for it. */
export async function startRecordingProxy({ replica, writes, ...server }: RecordingProxyOptions): Promise<HTTPProxy> {
  const prepare = async (request: IncomingMessage): Promise<Forwarding> => {
    const { method = '', url = '', headers } = request;
    if (method === 'GET') return {};
    const startMs = preciseNow();
    const body = await buffer(request);
    // A dry run, as of the check of permissions, writes nothing.
    if (url.includes('dryRun=All')) return { body };
    const [path = ''] = url.split('?');
    const text = path.includes('/leases') ? body.toString() : '';
    const write: RecordedWrite = {
      replica,
      method,
      path,
      headers,
      body: text,
      startMs,
      endMs: undefined,
      status: undefined,
    };
    writes.push(write);
    const onEnd = (status?: number): void => {
      write.endMs ??= preciseNow();
      write.status ??= status;
    };
    return { body, outlivesClient: true, onEnd };
  };
  const proxy = new HTTPProxy({ ...server, prepare });
  await proxy.listen();
  return proxy;
}
