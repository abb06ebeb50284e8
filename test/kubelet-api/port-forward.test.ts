import { pipeline } from 'node:stream/promises';
import type { Duplex } from 'node:stream';
import { deflateSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { StreamingRuntime } from 'kubelet-status-manager/kubelet-api';
import { headerDictionary } from '../../src/kubelet-api/spdy.ts';
import { SPDYClient, uint32 } from './spdy-client.ts';
import { testPod, TestServer } from './test-server.ts';

const path = '/portForward/default/web/uid-web';
let server: TestServer;
let forwarded: NonNullable<StreamingRuntime['portForward']>;
beforeEach(async () => {
  forwarded = async (_uid, _port, stream) => pipeline(stream, stream);
  server = await TestServer.start({
    runtime: {
      listPods: async () => [],
      getPod: async () => undefined,
      execSync: async () => ({ exitCode: 0, stdout: '', stderr: '' }),
      portForward: (...args) => forwarded(...args),
    },
  });
  server.pods.push(testPod('web'));
});
afterEach(() => server.close());

/** What is forwarded next, which the test ends. */
function nextForward(): Promise<{ readonly stream: Duplex; readonly signal: AbortSignal; readonly end: () => void }> {
  return new Promise((resolve) => {
    forwarded = (_uid, _port, stream, { signal } = {}) =>
      new Promise((end) => resolve({ stream, signal: signal!, end }));
  });
}

/** Resolves when the server reads nothing any more. */
async function untilStill({ connection }: SPDYClient): Promise<void> {
  for (let before = -1; before !== connection.writableLength;) {
    before = connection.writableLength;
    for (let i = 0; i < 10; i++) await server.get('/healthz');
  }
}

describe.each([
  ['SPDY', (to: TestServer) => SPDYClient.connect(to, path)],
  ['SPDY in a WebSocket', (to: TestServer) => SPDYClient.tunnel(to, path)],
])('port-forward over %s', (_name, connect) => {
  it('connects each pair of streams with its port, and ends both when the connection has ended', async () => {
    forwarded = async (uid, port, stream) =>
      pipeline(
        stream,
        async function* (source: AsyncIterable<Buffer>) {
          yield `${uid} ${port}: `;
          yield* source;
        },
        stream,
      );
    const client = await connect(server);
    const first = await client.forward(80, '0');
    const second = await client.forward(443, '1');
    await client.data(second.data, 'b', true);
    await client.data(first.data, 'a'.repeat(100_000));
    await client.data(first.data, '', true);
    await expect
      .poll(() => [client.stream(first.data), client.stream(second.data)])
      .toEqual([
        { text: `uid-web 80: ${'a'.repeat(100_000)}`, isReplied: true, isEnded: true },
        { text: 'uid-web 443: b', isReplied: true, isEnded: true },
      ]);
    await expect.poll(() => client.stream(first.errors)).toEqual({ text: '', isReplied: true, isEnded: true });
    client.connection.destroy();
  });

  it('tells the client why a port cannot be forwarded, and serves the next connection', async () => {
    forwarded = async (_uid, port) => {
      if (port === 81) throw new Error('connection refused');
    };
    const client = await connect(server);
    const { data, errors } = await client.forward(81);
    const text = 'error forwarding port 81 to pod web, uid uid-web: connection refused';
    await expect.poll(() => client.stream(errors)).toMatchObject({ text, isEnded: true });
    expect(client.stream(data)).toMatchObject({ text: '', reset: 5 });
    const next = await client.forward(80, '1');
    await expect.poll(() => client.stream(next.errors)).toMatchObject({ text: '', isEnded: true });
    client.connection.destroy();
  });

  it('ends what is forwarded when the client resets its stream, or is gone', async () => {
    const client = await connect(server);
    let next = nextForward();
    const { data } = await client.forward(80);
    const reset = await next;
    expect(reset.signal.aborted).toBe(false);
    await client.reset(data);
    await expect.poll(() => [reset.signal.aborted, reset.stream.destroyed]).toEqual([true, true]);
    next = nextForward();
    await client.forward(80, '1');
    const gone = await next;
    client.connection.destroy();
    await expect.poll(() => [gone.signal.aborted, gone.stream.destroyed]).toEqual([true, true]);
  });

  it('answers pings, which keep connections from being taken for idle', async () => {
    const client = await connect(server);
    await client.ping(1);
    await client.ping(3);
    await expect.poll(() => client.pings).toEqual(['00000001', '00000003']);
    client.connection.destroy();
  });
});

it('what the pod does not read waits at the client, and what comes after it, too', async () => {
  const client = await SPDYClient.connect(server, path);
  const next = nextForward();
  const { data } = await client.forward(80);
  const { stream, end } = await next;
  const sent = Array.from({ length: 512 }, () => client.data(data, 'x'.repeat(32_768)));
  await untilStill(client);
  expect(client.connection.writableLength).toBeGreaterThan(1_000_000);
  expect(stream.readableLength).toBeLessThan(100_000);
  let read = 0;
  stream.on('data', (chunk: Buffer) => (read += chunk.length));
  await Promise.all(sent);
  await expect.poll(() => read).toBe(512 * 32_768);
  end();
  client.connection.destroy();
});

it('a connection that ends while the pod has not read everything keeps no other connection waiting', async () => {
  const client = await SPDYClient.connect(server, path);
  const next = nextForward();
  const { data, errors } = await client.forward(80);
  const { stream, end } = await next;
  for (let i = 0; i < 64; i++) void client.data(data, 'x'.repeat(32_768));
  void client.ping(1);
  await untilStill(client);
  expect(client.pings).toEqual([]);
  stream.destroy();
  await expect.poll(() => client.pings).toEqual(['00000001']);
  end();
  await expect.poll(() => client.stream(errors).isEnded).toBe(true);
  client.connection.destroy();
});

it('what the client still sends after the end of a connection keeps no other connection waiting', async () => {
  forwarded = async () => {};
  const client = await SPDYClient.connect(server, path);
  const { data } = await client.forward(80);
  await expect.poll(() => client.stream(data).isEnded).toBe(true);
  for (let i = 0; i < 64; i++) await client.data(data, 'x'.repeat(32_768));
  await client.ping(1);
  await expect.poll(() => client.pings).toEqual(['00000001']);
  client.connection.destroy();
});

it('a stream whose partner has not come within 30 s is told so, or reset, and its request may be made again', async () => {
  const client = await SPDYClient.connect(server, path);
  const headers = { port: '80', requestid: '1' };
  const errors = await client.open({ ...headers, streamtype: 'error' });
  const data = await client.open({ ...headers, requestid: '2', streamtype: 'data' });
  await expect.poll(() => client.stream(data).isReplied).toBe(true);
  server.clock.advance(30_000);
  await expect
    .poll(() => client.stream(errors))
    .toEqual({ text: 'timed out waiting for streams', isReplied: true, isEnded: true, reset: 5 });
  expect(client.stream(data).reset).toBe(5);
  const next = nextForward();
  const again = await client.forward(80, '1');
  const { signal, end } = await next;
  server.clock.advance(30_000);
  await client.ping(1);
  await expect.poll(() => client.pings).toEqual(['00000001']);
  expect([signal.aborted, client.stream(again.errors).isEnded]).toEqual([false, false]);
  end();
  client.connection.destroy();
});

describe('hostile clients', () => {
  it.each<[string, (client: SPDYClient) => Promise<void>]>([
    ['no SPDY', (client) => client.send(Buffer.from('GET / HTTP/1.1\r\n\r\n'))],
    ['an unknown frame', (client) => client.send(Buffer.from('8003000800000004ffffffff', 'hex'))],
    ['a long control frame', (client) => client.openRaw(1, Buffer.alloc(100_000))],
    ['a long data frame', (client) => client.send(Buffer.from('0000000100ffffff', 'hex'))],
    ['no headers', (client) => client.openRaw(1, Buffer.alloc(0))],
    ['headers that are not compressed', (client) => client.openRaw(1, Buffer.from('streamtype: data'))],
    ['another dictionary', (client) => client.openRaw(1, deflateSync(uint32(0), { dictionary: Buffer.from('a') }))],
    [
      'a number of headers that are not there',
      async (client) => client.openRaw(1, await client.deflate(uint32(0xffff_ffff))),
    ],
    [
      'the end of the compressed text before its end',
      async (client) => {
        const block = deflateSync(uint32(0), { dictionary: headerDictionary });
        await client.openRaw(1, Buffer.concat([block, block]));
        await client.openRaw(3, block);
      },
    ],
  ])('are disconnected: %s', async (_what, send) => {
    const client = await SPDYClient.connect(server, path);
    const { closed } = client;
    await send(client);
    await closed;
    expect(server.logger.errors).toEqual([]);
  });

  it('have no use of headers that grow when they are inflated', async () => {
    const client = await SPDYClient.connect(server, path);
    const { closed } = client;
    const bomb = await client.deflate(Buffer.alloc(900_000, 1));
    expect(bomb.length).toBeLessThan(1000);
    await client.openRaw(1, bomb);
    await closed;
  });

  it('have at most 1024 streams at a time', async () => {
    const client = await SPDYClient.connect(server, path);
    for (let i = 0; i < 1025; i++) await client.open({ streamtype: 'data', port: '80', requestid: String(i) });
    await expect.poll(() => client.stream(2049).reset).toBe(3);
    expect([client.stream(2047), client.stream(2047).reset]).toEqual([
      expect.objectContaining({ isReplied: true }),
      undefined,
    ]);
    client.connection.destroy();
  });

  it('have a stream reset that goes on after its end, and no other', async () => {
    const client = await SPDYClient.connect(server, path);
    forwarded = () => new Promise(() => {});
    const { data } = await client.forward(80);
    await client.data(data, 'x', true);
    await client.data(data, 'x');
    await client.ping(1);
    await expect.poll(() => [client.stream(data).reset, client.pings]).toEqual([5, ['00000001']]);
    client.connection.destroy();
  });

  it('have their stream reset if it is the second one of its kind for a connection', async () => {
    const client = await SPDYClient.connect(server, path);
    const headers = { streamtype: 'data', port: '80', requestid: '1' };
    const [first, second] = [await client.open(headers), await client.open(headers)];
    await expect.poll(() => client.stream(second).reset).toBe(5);
    expect(client.stream(first).reset).toBe(undefined);
    client.connection.destroy();
  });

  it.each([
    ['no port', { streamtype: 'data' }],
    ['a port that is none', { streamtype: 'data', port: '65536' }],
    ['an unknown type', { streamtype: 'resize', port: '80' }],
  ])('have their stream reset: %s', async (_what, headers) => {
    const client = await SPDYClient.connect(server, path);
    const id = await client.open(headers);
    await expect.poll(() => client.stream(id).reset).toBe(5);
    client.connection.destroy();
  });
});

it.each([
  ['WebSockets without SPDY', { upgrade: 'websocket', 'sec-websocket-protocol': 'v4.channel.k8s.io' }, 501],
  ['another protocol', { upgrade: 'SPDY/3.1', 'x-stream-protocol-version': 'v5.channel.k8s.io' }, 403],
])('%s: refused', async (_what, headers, status) => {
  const reply = await server.get(path, { headers: { connection: 'Upgrade', ...headers } });
  expect(reply).toMatchObject({ status, text: expect.stringContaining('portforward.k8s.io') });
});
