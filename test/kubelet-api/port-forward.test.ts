import { once } from 'node:events';
import { pipeline } from 'node:stream/promises';
import type { Duplex } from 'node:stream';
import { deflateSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { StreamingRuntime } from 'kubelet-status-manager/kubelet-api';
import { headerDictionary } from '../../src/kubelet-api/spdy.ts';
import { SPDYClient, uint32 } from './spdy-client.ts';
import { testPod, TestServer } from './test-server.ts';
import { WebSocketClient } from './web-socket-client.ts';

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
      'many headers in a few bytes',
      async (client) =>
        client.openRaw(1, await client.deflate(Buffer.concat([uint32(100_000), Buffer.alloc(800_000)]))),
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

describe('port-forward over channels of a WebSocket, as client-node', () => {
  const protocol = 'v4.channel.k8s.io';
  const connect = (...ports: readonly number[]): Promise<WebSocketClient> =>
    new WebSocketClient(server, `${path}?port=${ports.join(',')}`, protocol).open();

  it('connects two channels with each port, whose first messages are the port, and ends when no port is connected', async () => {
    const ends: (() => void)[] = [];
    forwarded = async (uid, port, stream) => {
      stream.write(`${uid} ${port}: `);
      stream.on('data', (chunk: Buffer) => stream.write(chunk));
      await new Promise<void>((resolve) => ends.push(resolve));
    };
    const client = await connect(80, 8443);
    client.send(0, 'a'.repeat(100_000));
    client.send(2, 'b');
    const ofPort = (port: number): string => String.fromCharCode(port % 256, port >> 8);
    await expect
      .poll(() => [0, 1, 2, 3].map((channel) => client.text(channel, 'latin1')))
      .toEqual([
        `${ofPort(80)}uid-web 80: ${'a'.repeat(100_000)}`,
        ofPort(80),
        `${ofPort(8443)}uid-web 8443: b`,
        ofPort(8443),
      ]);
    ends[0]!();
    client.send(0, 'nobody reads it');
    client.send(2, 'c');
    await expect.poll(() => client.text(2)).toContain(': bc');
    ends[1]!();
    await expect.poll(() => client.socket.readyState).toBe(client.socket.CLOSED);
  });

  it('tells the client why a port cannot be forwarded, and goes on with the others', async () => {
    forwarded = async (_uid, port, stream) => {
      if (port === 81) throw new Error('connection refused');
      await pipeline(stream, stream);
    };
    const client = await connect(81, 80);
    await expect
      .poll(() => client.text(1).slice(2))
      .toBe('error forwarding port 81 to pod web, uid uid-web: connection refused');
    client.send(2, 'still there');
    await expect.poll(() => client.text(2).slice(2)).toBe('still there');
    client.socket.terminate();
  });

  it('ends what is forwarded when the client is lost', async () => {
    const next = nextForward();
    const client = await connect(80);
    const { signal, stream, end } = await next;
    expect(signal.aborted).toBe(false);
    client.socket.terminate();
    await expect.poll(() => [signal.aborted, stream.destroyed]).toEqual([true, true]);
    end();
  });

  it('the pod reads all that a client sent before it closed the connection, and has 30 s for it', async () => {
    const next = nextForward();
    const client = await connect(80);
    const { signal, stream, end } = await next;
    client.send(0, 'the last words');
    client.socket.close();
    await expect.poll(() => client.socket.readyState).toBe(client.socket.CLOSED);
    stream.write('an answer that nobody reads');
    let read = '';
    stream.on('data', (chunk: Buffer) => (read += chunk.toString()));
    await once(stream, 'end');
    expect([read, signal.aborted]).toEqual(['the last words', false]);
    server.clock.advance(30_000);
    await expect.poll(() => [signal.aborted, stream.destroyed]).toEqual([true, true]);
    end();
  });

  it('a pod that ends with its client leaves no timer', async () => {
    const timers = server.clock.pendingTimers;
    forwarded = async (_uid, _port, stream) => pipeline(stream, stream);
    const client = await connect(80);
    client.socket.close();
    await expect.poll(() => client.socket.readyState).toBe(client.socket.CLOSED);
    await expect.poll(() => server.clock.pendingTimers).toBe(timers);
  });

  it('what the pod does not read waits at the client', async () => {
    const next = nextForward();
    const client = await connect(80, 81);
    const { stream } = await next;
    for (let i = 0; i < 512; i++) client.send(0, 'x'.repeat(32_768));
    for (let before = -1; before !== client.socket.bufferedAmount;) {
      before = client.socket.bufferedAmount;
      for (let i = 0; i < 10; i++) await server.get('/healthz');
    }
    expect(client.socket.bufferedAmount).toBeGreaterThan(1_000_000);
    expect(stream.readableLength).toBeLessThan(200_000);
    let read = 0;
    stream.on('data', (chunk: Buffer) => (read += chunk.length));
    await expect.poll(() => read).toBe(512 * 32_768);
    client.socket.terminate();
  });

  it.each<[string, (stream: Duplex, end: () => void) => void]>([
    ['has ended', (_stream, end) => end()],
    ['has destroyed its stream', (stream) => stream.destroy()],
  ])('what is sent to a pod that %s keeps no other port waiting', async (_what, finish) => {
    const forwards: Record<number, () => void> = {};
    forwarded = async (_uid, port, stream) => {
      if (port === 81) return pipeline(stream, stream);
      return new Promise((end) => (forwards[port] = () => finish(stream, end)));
    };
    const client = await connect(80, 81);
    for (let i = 0; i < 8; i++) client.send(0, 'x'.repeat(32_768));
    client.send(2, 'y');
    for (let i = 0; i < 10; i++) await server.get('/healthz');
    expect(client.text(2).slice(2)).toBe('');
    forwards[80]!();
    await expect.poll(() => client.text(2).slice(2)).toBe('y');
    client.socket.terminate();
  });

  it('messages to no channel of the client are ignored', async () => {
    const client = await connect(80);
    client.socket.send(Buffer.alloc(0));
    for (const channel of [1, 2, 255]) client.send(channel, 'x');
    client.send(0, 'y');
    await expect.poll(() => client.text(0).slice(2)).toBe('y');
    client.socket.terminate();
  });
});

it.each([
  [
    'another WebSocket',
    { upgrade: 'websocket', 'sec-websocket-protocol': 'v5.channel.k8s.io' },
    [501, 'SPDY/3.1+portforward.k8s.io or v4.channel.k8s.io'],
  ],
  [
    'another protocol',
    { upgrade: 'SPDY/3.1', 'x-stream-protocol-version': 'v5.channel.k8s.io' },
    [403, 'portforward.k8s.io'],
  ],
  [
    'more ports than there are channels',
    { upgrade: 'websocket', 'sec-websocket-protocol': 'v4.channel.k8s.io' },
    [400, 'query parameter "port" has more than 128 values'],
    Array.from({ length: 129 }, (_, i) => i + 1).join(','),
  ],
])('%s: refused', async (_what, headers, [status, reason], ports = '80') => {
  const reply = await server.get(`${path}?port=${ports}`, { headers: { connection: 'Upgrade', ...headers } });
  expect(reply).toMatchObject({ status, text: expect.stringContaining(String(reason)) });
});
