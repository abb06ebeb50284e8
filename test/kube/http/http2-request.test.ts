import type { ClientHttp2Session } from 'node:http2';
import { Duplex } from 'node:stream';
import { expect, it } from 'vitest';
import { HTTP2Request } from '../../../src/kube/http/http2-request.ts';

/** A stream of a session, as far as a request uses it. */
class Stream extends Duplex {
  readonly rstCode = 0;
  setTimeout(): void {}
  close(): void {
    this.destroy();
  }
  override _read(): void {}
}

it('data that was read before the `response` event is passed on after the response has begun', async () => {
  const stream = new Stream();
  const calls: string[] = [];
  const options = { method: 'GET', path: '/', headersTimeoutMs: 0, bodyTimeoutMs: 0 } as const;
  const ended = new Promise<void>((resolve) => {
    const handler = {
      onRequestStart: () => calls.push('start'),
      onResponseStart: (_: unknown, statusCode: number) => calls.push(`response ${statusCode}`),
      onResponseData: (_: unknown, chunk: Buffer) => calls.push(`data ${chunk.toString()}`),
      onResponseEnd: () => {
        calls.push('end');
        resolve();
      },
      onResponseError: (_: unknown, error: Error) => calls.push(error.message),
    };
    const session = { request: () => stream } as unknown as ClientHttp2Session;
    new HTTP2Request(options, handler, () => {}).send(session, () => {});
  });
  stream.push('early');
  await new Promise(setImmediate);
  stream.emit('response', { ':status': 200 });
  stream.push(' and late');
  stream.push(null);
  await ended;
  expect(calls).toEqual(['start', 'response 200', 'data early', 'data  and late', 'end']);
});
