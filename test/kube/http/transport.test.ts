import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { APIError } from '../../../src/kube/client/api-error.ts';
import { version } from '../../../src/kube/http/user-agent.ts';
import type { KubeTransport } from '../../../src/kube/http/index.ts';
import { createKubeTransport, createSharingTransport } from '../../../src/kube/http/transport.ts';
import { pathSegment } from '../../../src/kube/http/index.ts';
import { FakeClock } from '../../../src/testing/fake-clock.ts';
import { kubeConfig } from './kube-configs.ts';
import type { KubeServer } from './kube-server.ts';
import { json, startKubeServer, status } from './kube-server.ts';

const packageJSON = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

/** Over HTTP/2, streams and heartbeats share sessions. */
const protocols = [
  { protocol: 'HTTP/1.1', start: () => startKubeServer(), create: createKubeTransport, path: '/version' },
  {
    protocol: 'HTTP/2',
    start: () => startKubeServer({ tls: true, http2: {} }),
    create: createSharingTransport,
    path: '/api/v1/nodes/n',
  },
];

async function failure(promise: Promise<unknown>): Promise<APIError> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(APIError);
  return error as APIError;
}

async function read(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** All that a logger could make of an error. */
function describeDeep(error: unknown): string {
  const seen: string[] = [];
  for (let at = error; at instanceof Error; at = at.cause) {
    seen.push(at.stack ?? '', at.message, JSON.stringify(Object.getOwnPropertyDescriptors(at)));
  }
  return seen.join('\n');
}

describe.each(protocols)('over $protocol', ({ protocol, start, create, path }) => {
  let server: KubeServer;
  let transport: KubeTransport;

  beforeEach(async () => {
    server = await start();
    transport = create(kubeConfig(server.url, { token: 'secret-token' }), { env: {} });
  });
  afterEach(async () => {
    await transport.close();
    await server.quiet();
    await server[Symbol.asyncDispose]();
  });

  describe('request', () => {
    it('sends method, path, query, body and headers, and returns the response unchanged', async () => {
      server.respond = (_request, response) => {
        response.writeHead(201, { 'content-type': 'application/json', 'x-header': 'yes' });
        response.end('{"big":12345678901234567890,"time":"2026-01-01T00:00:00.123Z"}');
      };
      const received = await transport.request('POST', '/api/v1/nodes', {
        query: { fieldManager: 'a b', dryRun: undefined, pretty: false },
        body: { spec: { ü: 1 } },
        headers: { 'x-extra': '1' },
      });
      expect(received.statusCode).toBe(201);
      expect(received.headers['x-header']).toBe('yes');
      expect(received.text).toBe('{"big":12345678901234567890,"time":"2026-01-01T00:00:00.123Z"}');
      expect(received.json()).toMatchObject({ time: '2026-01-01T00:00:00.123Z' });
      expect(server.arrived[0]).toMatchObject({
        method: 'POST',
        url: '/api/v1/nodes?fieldManager=a+b&pretty=false',
        body: '{"spec":{"ü":1}}',
      });
      expect(server.arrived[0]?.headers).toMatchObject({
        accept: 'application/json',
        'accept-encoding': 'gzip',
        'content-type': 'application/json',
        authorization: 'Bearer secret-token',
        'x-extra': '1',
      });
    });

    it("names the package's version in its User-Agent, with the field manager in front", async () => {
      await transport.request('GET', path);
      expect(version).toBe(packageJSON.version);
      expect(server.arrived[0]?.headers['user-agent']).toMatch(
        new RegExp(`^kubelet-status-manager/${version} \\(\\w+/\\w+\\) node/`),
      );
    });

    it('keeps connections open and opens no more than allowed', async () => {
      const narrow = create(kubeConfig(server.url), { env: {}, connections: 2 });
      await Promise.all(Array.from({ length: 12 }, () => narrow.request('GET', path)));
      await narrow.request('GET', path);
      expect(new Set(server.arrived.map(({ connection }) => connection)).size).toBeLessThanOrEqual(2);
      await narrow.close();
    });

    it('keeps a connection open after a DELETE with options', async () => {
      for (let count = 0; count < 4; count++)
        await transport.request('DELETE', '/api/v1/namespaces/default/pods/web', { body: { gracePeriodSeconds: 0 } });
      // A request that follows immediately may use the other one.
      expect(new Set(server.arrived.map(({ connection }) => connection)).size).toBeLessThanOrEqual(2);
    });

    it('reads gzip, and does not request it with disable-compression', async () => {
      const text = JSON.stringify({ long: 'ä'.repeat(100_000) });
      server.respond = (_request, response) => {
        response.writeHead(200, { 'content-encoding': 'gzip' });
        response.end(gzipSync(text));
      };
      expect((await transport.request('GET', path)).text).toBe(text);
      const plain = create(kubeConfig(server.url, {}, { 'disable-compression': true }), { env: {} });
      await plain.request('GET', path);
      expect(server.arrived[1]?.headers['accept-encoding']).toBeUndefined();
      await plain.close();
    });

    it('reads a response whose chunks have one byte each', async () => {
      const text = JSON.stringify({ long: 'x'.repeat(20_000) });
      server.respond = (_request, response) => {
        for (const character of text) response.write(character);
        response.end();
      };
      expect((await transport.request('GET', path)).text).toBe(text);
    });

    it('refuses deeply nested JSON before parsing it, which would block the event loop for seconds', async () => {
      server.respond = (_request, response) => response.end('['.repeat(200_000));
      const response = await transport.request('GET', path);
      expect(() => response.json()).toThrow(
        expect.objectContaining({
          kind: 'invalid-response',
          message: 'the response (200) is nested deeper than 1000 levels',
        }),
      );
    });

    it.each([
      'relative',
      '/a/../b',
      '/a/./b',
      '/a/%2e%2E/b',
      '/a/..',
      '/a?x=1',
      '/a#b',
      '/a\\b',
      '//other',
      '/a%2fb',
      '/a b',
    ])('refuses the path %s', async (path) => {
      await expect(transport.request('GET', path)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', path: 'path' });
      expect(server.arrived).toEqual([]);
    });

    it.each([
      ['', false],
      ['.', false],
      ['..', false],
      ['a/b', false],
      ['a%2fb', false],
      ['web-0.x', 'web-0.x'],
      ['system:node:a', 'system%3Anode%3Aa'],
      ['ü?#', '%C3%BC%3F%23'],
    ])('pathSegment(%j)', (name, expected) => {
      if (expected === false)
        expect(() => pathSegment(name, 'name')).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
      else expect(pathSegment(name, 'name')).toBe(expected);
    });
  });

  describe('lastSuccessAgeMs', () => {
    it('is the time since the last 2xx response to a request or a stream', async () => {
      const clock = new FakeClock();
      const timed = create(kubeConfig(server.url, {}), { env: {}, clock });
      expect(timed.lastSuccessAgeMs).toBeUndefined();
      await timed.request('GET', path);
      clock.advance(5_000);
      expect(timed.lastSuccessAgeMs).toBe(5_000);
      server.respond = (_request, response) => status(response, 500, 'no leader');
      await failure(timed.request('GET', path));
      expect(timed.lastSuccessAgeMs).toBe(5_000);
      server.respond = (_request, response) => json(response, {});
      await read((await timed.stream('/api/v1/pods')).body);
      expect(timed.lastSuccessAgeMs).toBe(0);
      await timed.close();
    });
  });

  describe('failures', () => {
    it("carry the Status' reason and causes, and Retry-After", async () => {
      server.respond = (_request, response) =>
        json(
          response,
          {
            kind: 'Status',
            reason: 'Invalid',
            message: 'no',
            code: 422,
            details: { causes: [{ field: 'metadata.uid', reason: 'FieldValueInvalid' }] },
          },
          422,
          { 'retry-after': '7' },
        );
      expect(await failure(transport.request('GET', path))).toMatchObject({
        kind: 'http',
        statusCode: 422,
        reason: 'Invalid',
        causes: [{ field: 'metadata.uid', reason: 'FieldValueInvalid' }],
        retryAfterMs: 7000,
      });
    });

    it.each([302, 400, 401, 403, 404, 429, 500, 503])('%i is tried once', async (code) => {
      server.respond = (_request, response) => status(response, code, 'Some');
      expect(await failure(transport.request('GET', path))).toMatchObject({ statusCode: code });
      expect(server.arrived).toHaveLength(1);
    });

    it('a response that is not JSON has a text, and json() throws invalid-response', async () => {
      server.respond = (_request, response) => response.end('<html>');
      const received = await transport.request('GET', path);
      expect(received.text).toBe('<html>');
      expect(() => received.json()).toThrow(expect.objectContaining({ kind: 'invalid-response', statusCode: 200 }));
    });

    it.each(['br', 'gzip'])('an unreadable %s body is an invalid response', async (encoding) => {
      server.respond = (_request, response) => {
        response.writeHead(200, { 'content-encoding': encoding });
        response.end('not compressed');
      };
      expect(await failure(transport.request('GET', path))).toMatchObject({ kind: 'invalid-response' });
    });

    it.each([401, 429, 503])('a %i with an unreadable body is still a %i', async (code) => {
      server.respond = (_request, response) => {
        response.writeHead(code, { 'content-encoding': 'gzip', 'retry-after': '7' });
        response.end('not compressed');
      };
      expect(await failure(transport.request('GET', path))).toMatchObject({
        kind: 'http',
        statusCode: code,
        retryAfterMs: 7_000,
      });
    });

    it('the message of a Status is read from gzip, and only from the first 64 KiB of a stream', async () => {
      const body = JSON.stringify({ kind: 'Status', message: 'not yours' });
      server.respond = (_request, response) => {
        response.writeHead(403, { 'content-encoding': 'gzip' });
        response.end(gzipSync(body));
      };
      expect((await failure(transport.request('GET', path))).message).toContain('not yours');
      expect((await failure(transport.stream('/watch'))).message).toContain('not yours');
      server.respond = (_request, response) => {
        response.writeHead(403);
        response.write(body);
        response.write(' '.repeat(64 * 1024));
      };
      expect((await failure(transport.stream('/watch'))).message).toContain('not yours');
    });

    it('a cut connection, before and within the body, is a network failure', async () => {
      server.respond = (_request, response) => response.destroy();
      expect(await failure(transport.request('GET', path))).toMatchObject({ kind: 'network' });
      server.respond = (_request, response) => {
        response.writeHead(200, { 'content-length': '100' });
        response.write('{"half":', () => response.destroy());
      };
      expect(await failure(transport.request('GET', path))).toMatchObject({ kind: 'network' });
    });

    it('a refused connection is a network failure', async () => {
      const gone = await start();
      await gone[Symbol.asyncDispose]();
      const other = create(kubeConfig(gone.url), { env: {} });
      expect(await failure(other.request('GET', path))).toMatchObject({ kind: 'network' });
      await other.close();
    });

    it('an endless error body is described by its beginning, for a request and for a stream', async () => {
      server.respond = (_request, response) => {
        response.writeHead(503, { 'retry-after': '7' });
        // Each write in a turn of its own: on Node 26 one to a closed connection fails before `destroyed` is told.
        const more = (): void =>
          void (response.destroyed || response.write('x'.repeat(16_384), () => setImmediate(more)));
        more();
      };
      const expected = { kind: 'http', statusCode: 503, retryAfterMs: 7_000 };
      expect(await failure(transport.request('GET', path))).toMatchObject(expected);
      expect(await failure(transport.stream('/watch'))).toMatchObject(expected);
    });

    it.each([undefined, 'gzip'])(
      'a response longer than maxResponseBytes is an invalid response, encoding %s',
      async (encoding) => {
        server.respond = (_request, response) => {
          response.writeHead(200, encoding === undefined ? {} : { 'content-encoding': encoding });
          response.end(encoding === undefined ? 'x'.repeat(1_001) : gzipSync('x'.repeat(1_001)));
        };
        const request = (maxResponseBytes: number): Promise<unknown> =>
          transport.request('GET', path, { maxResponseBytes });
        expect(await failure(request(1_000))).toMatchObject({
          kind: 'invalid-response',
          message: expect.stringContaining('long') as string,
        });
        expect(await request(1_001)).toMatchObject({ statusCode: 200 });
      },
    );

    it('the signal ends a request that hangs: timeout by a TimeoutError, else aborted', async () => {
      for (const [reason, kind] of [
        [new DOMException('late', 'TimeoutError'), 'timeout'],
        [undefined, 'aborted'],
        [new Error('stop'), 'aborted'],
      ] as const) {
        const controller = new AbortController();
        server.respond = () => controller.abort(reason);
        expect(await failure(transport.request('GET', path, { signal: controller.signal }))).toMatchObject({
          kind,
        });
      }
    });

    it('the signal ends a request whose body trickles', async () => {
      const controller = new AbortController();
      server.respond = (_request, response) => {
        response.writeHead(200);
        response.write('{', () => setImmediate(() => controller.abort(new DOMException('late', 'TimeoutError'))));
      };
      expect(await failure(transport.request('GET', path, { signal: controller.signal }))).toMatchObject({
        kind: 'timeout',
      });
    });

    it('an aborted signal sends nothing', async () => {
      expect(await failure(transport.request('GET', path, { signal: AbortSignal.abort() }))).toMatchObject({
        kind: 'aborted',
      });
      expect(server.arrived).toEqual([]);
    });

    it('a silent server ends in timeout without any signal', async () => {
      server.respond = () => {};
      const impatient = create(kubeConfig(server.url), { env: {}, inactivityTimeoutMs: 50 });
      expect(await failure(impatient.request('GET', path))).toMatchObject({ kind: 'timeout' });
      await impatient.close();
    });

    it('name host and port of a server that refuses the connection', async () => {
      const gone = await start();
      const config = kubeConfig(gone.url);
      await gone[Symbol.asyncDispose]();
      const other = create(config, { env: {} });
      expect((await failure(other.request('GET', path))).message).toBe(
        `request to ${new URL(gone.url).host} failed: ECONNREFUSED`,
      );
      await other.close();
    });

    it('never hold a credential', async () => {
      const responses: KubeServer['respond'][] = [
        (_request, response) => response.destroy(),
        (_request, response) => status(response, 401, 'Unauthorized'),
        // Some gateways quote the request.
        ({ headers }, response) => json(response, { message: `bad header ${headers.authorization}` }, 400),
        ({ headers }, response) => json(response, { kind: 'Status', code: 422, message: headers.authorization }, 422),
        // This one was shown: JSON has more than one way to write a character.
        (_request, response) => {
          response.writeHead(400);
          response.end(
            '{"kind":"Status","message":"\\u0073ecret-token","details":{"causes":[{"field":"s\\u0065cret-token"}]}}',
          );
        },
        ({ headers }, response) =>
          json(
            response,
            { kind: 'Status', message: encodeURIComponent(headers.authorization!).replace('-', '%2D') },
            400,
          ),
        ({ headers }, response) => json(response, { kind: 'Status', reason: btoa(headers.authorization!) }, 400),
        ({ headers }, response) =>
          protocol === 'HTTP/1.1'
            ? void response.socket?.end(`bad request: ${headers.authorization}\r\n\r\n`)
            : void server.sockets()[0]?.destroy(),
      ];
      for (const respond of responses) {
        server.respond = respond;
        const error = await failure(transport.request('GET', path));
        for (const format of ['secret-token', 'secret%2Dtoken', btoa('Bearer secret-token')])
          expect(describeDeep(error)).not.toContain(format);
      }
      const broken = create(kubeConfig(server.url, { token: 'secret-token\nsplit' }), { env: {} });
      const error: unknown = await broken.request('GET', path).catch((reason: unknown) => reason);
      expect(describeDeep(error)).not.toContain('secret-token');
      await broken.close();
    });
  });

  describe('stream', () => {
    it('yields chunks as they arrive, on its own connection', async () => {
      let finish = (): void => {};
      server.respond = ({ url }, response) => {
        if (url === path) {
          json(response, {});
          return;
        }
        response.write('first');
        finish = () => response.end('second');
      };
      const narrow = create(kubeConfig(server.url), { env: {}, connections: 1 });
      const { body } = await narrow.stream('/watch', { query: { watch: 1 } });
      const chunks = body[Symbol.asyncIterator]();
      expect(Buffer.from((await chunks.next()).value as Uint8Array).toString()).toBe('first');
      await narrow.request('GET', path);
      finish();
      expect(Buffer.from((await chunks.next()).value as Uint8Array).toString()).toBe('second');
      expect((await chunks.next()).done).toBe(true);
      await narrow.close();
    });

    it('requests no compression, which a proxy may buffer, and has the headers of its caller', async () => {
      await transport.stream('/watch', { headers: { accept: 'text/plain' } });
      expect(server.arrived[0]?.headers).toMatchObject({ accept: 'text/plain', 'accept-encoding': 'identity' });
    });

    it('releases its connection when it has ended', async () => {
      server.respond = (_request, response) => response.end('x');
      const { body } = await transport.stream('/watch');
      expect(await read(body)).toBe('x');
      await server.quiet();
      expect(server.openSockets()).toBe(0);
    });

    it('ends the request when the reader leaves the loop', async () => {
      server.respond = (_request, response) => response.write('x');
      const { body } = await transport.stream('/watch');
      for await (const _ of body) break;
      await server.quiet();
      expect(server.openSockets()).toBe(0);
    });

    it('rejects for anything but 2xx', async () => {
      server.respond = (_request, response) => status(response, 410, 'Expired');
      expect(await failure(transport.stream('/watch'))).toMatchObject({ statusCode: 410, reason: 'Expired' });
    });

    it('throws an APIError in the loop when the stream is aborted or the connection is cut', async () => {
      const controller = new AbortController();
      server.respond = (_request, response) => response.write('x');
      const first = await transport.stream('/watch', { signal: controller.signal });
      controller.abort();
      expect(await failure(read(first.body))).toMatchObject({ kind: 'aborted' });
      server.respond = (_request, response) => response.write('x', () => server.sockets()[0]?.destroy());
      const second = await transport.stream('/watch');
      expect(await failure(read(second.body))).toMatchObject({ kind: 'network' });
    });
  });

  describe('a server that accepts connections and never responds', () => {
    it('does not keep a stream open after its abort, and blocks neither close() nor process exit', async () => {
      const sockets: Socket[] = [];
      const silent = createServer((socket) => sockets.push(socket.on('error', () => {}))).listen(0, '127.0.0.1');
      await once(silent, 'listening');
      const { port } = silent.address() as AddressInfo;
      const tls = create(kubeConfig(`https://127.0.0.1:${port}`), { env: {} });
      const controller = new AbortController();
      const stream = failure(tls.stream('/watch', { signal: controller.signal }));
      const request = failure(tls.request('GET', path));
      while (sockets.length < 2) await once(silent, 'connection');
      const closed = sockets.map((socket) => once(socket.resume(), 'close'));
      controller.abort();
      expect(await stream).toMatchObject({ kind: 'aborted' });
      await tls.close();
      expect(await request).toMatchObject({ kind: 'aborted' });
      await Promise.all(closed);
      silent.close();
    });
  });

  describe('closing', () => {
    it('closeIdle leaves no idle socket, does not interrupt requests in flight, and later requests connect again', async () => {
      server.respond = (_request, response) => {
        void transport.closeIdle();
        json(response, { late: true });
      };
      const received = await transport.request('GET', path);
      expect(received.json()).toEqual({ late: true });
      await server.quiet();
      server.respond = (_request, response) => json(response, {});
      await transport.request('GET', path);
      expect(new Set(server.arrived.map(({ connection }) => connection)).size).toBe(2);
    });

    it('close ends requests and streams with aborted, refuses later ones, and can be called again', async () => {
      server.respond = ({ url }, response) => {
        if (url === '/watch') response.write('x');
        else void transport.close();
      };
      const { body } = await transport.stream('/watch');
      const reading = failure(read(body));
      expect(await failure(transport.request('GET', path))).toMatchObject({ kind: 'aborted' });
      expect(await reading).toMatchObject({ kind: 'aborted' });
      expect(await failure(transport.request('GET', path))).toMatchObject({ kind: 'aborted' });
      await transport.close();
      await server.quiet();
    });
  });

  describe('options', () => {
    it.each([
      ['connections', 0],
      ['connections', 1.5],
      ['connectTimeoutMs', -1],
      ['inactivityTimeoutMs', Number.NaN],
      ['execTimeoutMs', 0],
      ['execTimeoutMs', 2 ** 31],
      ['kubeConfigDir', 7],
      ['userAgent', 'two\nlines'],
    ])('%s: %j is refused', (name, value) => {
      expect(() => create(kubeConfig('https://127.0.0.1:1'), { [name]: value })).toThrow(
        expect.objectContaining({ code: 'INVALID_OPTION', path: name }),
      );
    });

    it('userAgent replaces the default one', async () => {
      const named = create(kubeConfig(server.url), { env: {}, userAgent: 'my-agent/1' });
      await named.request('GET', path);
      expect(server.arrived[0]?.headers['user-agent']).toBe('my-agent/1');
      await named.close();
    });
  });
});
