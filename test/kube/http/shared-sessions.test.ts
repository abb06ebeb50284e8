import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { constants, type Http2ServerResponse, type ServerHttp2Session } from 'node:http2';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createServer as createTLSServer, type TLSSocket } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import type { APIError } from '../../../src/kube/client/api-error.ts';
import type { KubeTransport, KubeTransportOptions } from '../../../src/kube/http/index.ts';
import { createSharingTransport } from '../../../src/kube/http/transport.ts';
import { FakeClock } from '../../../src/testing/fake-clock.ts';
import { kubeConfig } from './kube-configs.ts';
import { type KubeServer, type KubeServerOptions, json, startKubeServer, status, testPem } from './kube-server.ts';

const node = '/api/v1/nodes/n';
const network = expect.objectContaining({ kind: 'network' });

let server: KubeServer;
let transport: KubeTransport;
let clock: FakeClock;
const cleanUps: (() => unknown)[] = [];

afterEach(async () => {
  await transport.close();
  if (clock.pendingTimers > 0) throw new Error('close() left a timer');
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

/** A server of which every stream sends one byte and stays open; a request for a Node is answered. */
async function setUp(options: KubeServerOptions = {}): Promise<void> {
  server = await startKubeServer({ tls: true, http2: {}, ...options });
  cleanUps.push(() => server[Symbol.asyncDispose]());
  server.respond = ({ url }, response) => {
    if (url === node) json(response, {});
    else response.write('x');
  };
  connectTo(server.url);
}

function connectTo(url: string, user: object = {}, options: KubeTransportOptions = {}): void {
  clock = new FakeClock();
  transport = createSharingTransport(kubeConfig(url, user), { env: {}, clock, ...options });
}

interface Open {
  text: string;
  state: 'open' | 'complete' | APIError;
  readonly ended: Promise<unknown>;
}

/** A stream whose first byte has arrived, and which is read as it arrives. */
async function open(signal?: AbortSignal): Promise<Open> {
  const { body } = await transport.stream('/watch', { signal });
  const chunks = body[Symbol.asyncIterator]();
  const read = async (): Promise<void> => {
    for (;;) {
      const { done, value } = await chunks.next();
      if (done === true) return void (stream.state = 'complete');
      stream.text += Buffer.from(value).toString();
    }
  };
  const stream: Open = { text: '', state: 'open', ended: Promise.resolve() };
  stream.text += Buffer.from((await chunks.next()).value as Uint8Array).toString();
  return Object.assign(stream, { ended: read().catch((error: APIError) => (stream.state = error)) });
}

function openMany(count: number): Promise<Open[]> {
  return Promise.all(Array.from({ length: count }, () => open()));
}

/** The number of connections that requests came over. */
function connectionsUsed(): number {
  return new Set(server.arrived.map(({ connection }) => connection)).size;
}

/** The client has read what the server sent over this session, which ends all that it ends. */
function read(session: ServerHttp2Session | undefined): Promise<void> {
  return new Promise((resolve) => session!.ping(() => setImmediate(resolve)));
}

describe('the number of connections', () => {
  it('250 streams take 3 connections, and heartbeats one of their own', async () => {
    await setUp({ http2: { maxConcurrentStreams: 250 } });
    await openMany(250);
    await Promise.all(Array.from({ length: 50 }, () => transport.request('PATCH', node, { body: {} })));
    expect(server.openSockets()).toBe(4);
    expect(connectionsUsed()).toBe(4);
  });

  it('a session takes no more streams than the server allows', async () => {
    await setUp({ http2: { maxConcurrentStreams: 10 } });
    await openMany(25);
    expect(server.openSockets()).toBe(3);
    expect(connectionsUsed()).toBe(3);
  });

  it('requests that are not heartbeats stay on HTTP/1.1', async () => {
    await setUp();
    server.respond = (_request, response) => json(response, {});
    await transport.request('GET', '/version');
    expect(server.sessions).toHaveLength(0);
    expect(server.openSockets()).toBe(1);
  });

  it('a session ends with its last stream; that of heartbeats is kept, until closeIdle()', async () => {
    await setUp();
    const abort = new AbortController();
    await open(abort.signal);
    await transport.request('GET', node);
    abort.abort();
    await server.quiet(1);
    await transport.request('GET', node);
    expect(connectionsUsed()).toBe(2);
    await transport.closeIdle();
    await server.quiet();
  });
});

describe('a session that ends', () => {
  it('after GOAWAY: open streams go on, new ones use a new session, and the old one ends with its streams', async () => {
    await setUp();
    const responses: ServerResponse[] = [];
    server.respond = (_request, response) => {
      response.write('x');
      responses.push(response);
    };
    const first = await open();
    server.sessions[0]!.goaway();
    await read(server.sessions[0]);
    await open();
    expect(connectionsUsed()).toBe(2);
    responses[0]!.end('y');
    await first.ended;
    expect(first).toMatchObject({ text: 'xy', state: 'complete' });
    await server.quiet(1);
  });

  it('a request that the server did not process before its GOAWAY is sent again, once', async () => {
    await setUp();
    const first = await open();
    const second = server.sessions[0]!;
    second.once('stream', () => second.goaway(0, 1));
    await open();
    expect(first.state).toBe('open');
    expect(connectionsUsed()).toBe(2);
    // A server that processes none is not asked forever.
    server.respond = (_request, response) => {
      (response as unknown as Http2ServerResponse).stream.session!.goaway(0, 0x7fffffff);
      (response as unknown as Http2ServerResponse).stream.close(constants.NGHTTP2_REFUSED_STREAM);
    };
    const before = server.arrived.length;
    await expect(transport.stream('/watch')).rejects.toEqual(network);
    expect(server.arrived.length - before).toBe(2);
  });

  it('GOAWAY with an error, or a lost connection: its streams fail as network errors, and later ones connect again', async () => {
    await setUp();
    for (const end of [
      () => server.sessions.at(-1)!.goaway(constants.NGHTTP2_INTERNAL_ERROR),
      () => server.sockets()[0]!.destroy(),
    ]) {
      const streams = await openMany(3);
      const count = connectionsUsed();
      end();
      await Promise.all(streams.map(({ ended }) => ended));
      expect(streams.map(({ state }) => state)).toEqual([network, network, network]);
      const next = await open();
      expect(connectionsUsed()).toBe(count + 1);
      server.sockets()[0]!.destroy();
      await next.ended;
    }
  });

  it('a session that received nothing for 30 to 45 s is pinged, and ended 15 s later if it hangs', async () => {
    await setUp();
    const relay = await startRelay(server.url);
    connectTo(relay.url);
    const streams = await openMany(2);
    const [session] = server.sessions;
    clock.advance(15_000);
    const pinged = once(session!, 'ping');
    clock.advance(30_000);
    await pinged;
    await read(session);
    clock.advance(30_000);
    await open();
    expect(connectionsUsed()).toBe(1);

    relay.freeze();
    clock.advance(45_000);
    expect(streams.map(({ state }) => state)).toEqual(['open', 'open']);
    clock.advance(15_000);
    await Promise.all(streams.map(({ ended }) => ended));
    expect(streams.map(({ state }) => state)).toEqual([network, network]);
    await open();
    expect(connectionsUsed()).toBe(2);
  });

  it('a request that is given up before its response begins: the next one uses another session, which may not hang', async () => {
    await setUp();
    const relay = await startRelay(server.url);
    connectTo(relay.url);
    await transport.request('GET', node);
    relay.freeze();
    const heartbeats = [1, 2].map(() => {
      const abort = new AbortController();
      return { abort, response: failure(transport.request('GET', node, { signal: abort.signal })) };
    });
    // Both are on their way.
    await nextTurn();
    heartbeats[0]!.abort.abort(new DOMException('late', 'TimeoutError'));
    expect(await heartbeats[0]!.response).toMatchObject({ kind: 'timeout' });
    await transport.request('GET', node);
    heartbeats[1]!.abort.abort();
    expect(await heartbeats[1]!.response).toMatchObject({ kind: 'aborted' });
    expect(connectionsUsed()).toBe(2);
  });

  it('other TLS options: another session, and the old one ends with its streams', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'shared-sessions-'));
    cleanUps.push(() => rm(folder, { recursive: true }));
    const [cert, key] = ['cert', 'key'].map((name) => path.join(folder, name)) as [string, string];
    const rotate = async (name: string): Promise<void> => {
      await writeFile(cert, testPem(name));
      await writeFile(key, testPem(`${name}.key`));
    };
    await rotate('client-a');
    await setUp();
    connectTo(server.url, { 'client-certificate': cert, 'client-key': key });
    const abort = new AbortController();
    const first = await open(abort.signal);
    await transport.request('GET', node);
    await rotate('client-b');
    for (let seconds = 0; seconds < 60; seconds += 15) {
      clock.advance(15_000);
      await read(server.sessions[0]);
    }
    await open();
    await transport.request('GET', node);
    const names = ['client-a', 'client-a', 'client-b', 'client-b'];
    expect(server.arrived.map(({ clientName }) => clientName)).toEqual(names);
    expect(first.state).toBe('open');
    await server.quiet(3);
    abort.abort();
    await server.quiet(2);
  });
});

describe('one of many streams', () => {
  it.each([
    ['aborted', () => {}, 'aborted'],
    ['reset by the server', (response: Http2ServerResponse) => response.stream.destroy(new Error('reset')), 'network'],
    [
      'cancelled by the server',
      (response: Http2ServerResponse) => response.stream.close(constants.NGHTTP2_CANCEL),
      'network',
    ],
  ] as const)('that is %s ends alone', async (_how, end, expected) => {
    await setUp();
    const others = await openMany(2);
    let newest: Http2ServerResponse | undefined;
    server.respond = ({ url }, response) => {
      if (url === node) return json(response, {});
      newest = response as unknown as Http2ServerResponse;
      response.write('x');
    };
    const abort = new AbortController();
    const stream = await open(abort.signal);
    const closed = new Promise((resolve) => newest!.stream.once('close', resolve).on('error', () => {}));
    if (expected === 'aborted') abort.abort();
    else end(newest!);
    await Promise.all([stream.ended, closed]);
    expect(typeof stream.state === 'string' ? stream.state : stream.state.kind).toBe(expected);
    await read(server.sessions[0]);
    expect(others.map(({ state }) => state)).toEqual(['open', 'open']);
    expect(server.openSockets()).toBe(1);
  });

  it('that nobody reads does not hold up another, nor fill the memory', async () => {
    await setUp();
    const chunk = Buffer.alloc(16_384, 'x');
    let written = 0;
    server.respond = ({ url }, response) => {
      if (url === '/slow') {
        const more = (): void => {
          written += chunk.length;
          if (response.write(chunk)) setImmediate(more);
        };
        more();
        response.on('drain', more);
      } else for (let count = 0; count < 1_024; count++) response.write(chunk);
      if (url === '/fast') response.end();
    };
    const slow = await transport.stream('/slow');
    let length = 0;
    for (let times = 0; times < 6; times++) {
      const { body } = await transport.stream('/fast');
      for await (const part of body) length += part.length;
    }
    expect(length).toBe(6 * 1_024 * chunk.length);
    expect(connectionsUsed()).toBe(1);
    expect(written).toBeLessThan(1024 * 1024);
    let read = 0;
    for await (const part of slow.body) {
      read += part.length;
      if (read > 64 * chunk.length) break;
    }
  });

  it('after a 401 is sent again over the same session, with the new token', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'shared-sessions-'));
    cleanUps.push(() => rm(folder, { recursive: true }));
    const tokenFile = path.join(folder, 'token');
    await writeFile(tokenFile, 'old');
    await setUp();
    connectTo(server.url, { tokenFile });
    await openMany(2);
    await writeFile(tokenFile, 'new');
    server.respond = ({ headers }, response) => {
      if (headers.authorization === 'Bearer new') response.write('x');
      else status(response, 401, 'Unauthorized');
    };
    await open();
    expect(server.arrived.map(({ headers }) => headers.authorization).slice(-2)).toEqual(['Bearer old', 'Bearer new']);
    expect(server.openSockets()).toBe(1);
  });
});

it('frames that are not HTTP/2 end the session that has them within 60 s, although Node does not', async () => {
  const options = { cert: testPem('server'), key: testPem('server.key'), ALPNProtocols: ['h2'] };
  let answered = (): void => {};
  const raw = createTLSServer(options, (socket) => {
    socket.on('error', () => {}).write(frame(4));
    let length = 0;
    socket.on('data', (data) => {
      length += data.length;
      // Less than the request: what opens a session.
      if (length < 100) return;
      socket.write('HTTP/1.1 400 Bad Request\r\n\r\n', () => answered());
    });
  });
  await once(raw.listen(0, '127.0.0.1'), 'listening');
  connectTo(`https://127.0.0.1:${(raw.address() as AddressInfo).port}`);
  const isAnswered = new Promise<void>((resolve) => (answered = resolve));
  const failed = failure(transport.stream('/watch'));
  await isAnswered;
  for (let turn = 0; turn < 3; turn++) await nextTurn();
  clock.advance(60_000);
  expect(await failed).toEqual(network);
  await transport.close();
  raw.close();
});

describe('a server without HTTP/2', () => {
  it('each stream has a connection, the first that of the attempt; heartbeats keep theirs', async () => {
    await setUp({ http2: undefined });
    await openMany(5);
    expect(server.openSockets()).toBe(5);
    expect(server.arrived).toHaveLength(5);
    for (let count = 0; count < 3; count++) await transport.request('GET', node);
    // A request that follows immediately may use another connection.
    expect(server.openSockets()).toBeLessThanOrEqual(7);
    expect(server.arrived).toHaveLength(8);
  });

  it('http: as without sharing', async () => {
    await setUp({ tls: false, http2: undefined });
    await openMany(2);
    expect(server.openSockets()).toBe(2);
  });

  it.each([
    [
      'responds with something other than HTTP/2',
      (socket: TLSSocket): void => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'),
    ],
    ['says nothing', (): void => {}],
    [
      'processes nothing',
      (socket: TLSSocket): void => void socket.write(Buffer.concat([frame(4), frame(7, Buffer.alloc(8))])),
    ],
    ['closes', (socket: TLSSocket): void => void socket.end()],
  ] as const)(
    'one that chose it and %s gets one connection for the requests that wait for it',
    async (what, behave) => {
      let count = 0;
      const options = { cert: testPem('server'), key: testPem('server.key'), ALPNProtocols: ['h2'] };
      const silent = createTLSServer(options, (socket): void => {
        count++;
        socket.on('error', () => {}).resume();
        behave(socket);
      });
      await once(silent.listen(0, '127.0.0.1'), 'listening');
      connectTo(`https://127.0.0.1:${(silent.address() as AddressInfo).port}`, {}, { connectTimeoutMs: 100 });
      const results = await Promise.allSettled([1, 2, 3].map(() => transport.stream('/watch')));
      expect(results.map((result) => result.status === 'rejected' && (result.reason as APIError).kind)).toEqual([
        'network',
        'network',
        'network',
      ]);
      expect(count).toBe(what === 'processes nothing' ? 2 : 1);
      silent.close();
    },
  );
});

it('close() ends streams and heartbeats with aborted, and leaves neither a connection nor a timer', async () => {
  await setUp();
  const streams = await openMany(3);
  server.respond = () => void transport.close();
  await expect(transport.request('GET', node)).rejects.toMatchObject({ kind: 'aborted' });
  await Promise.all(streams.map(({ ended }) => ended));
  expect(streams.map(({ state }) => (state as APIError).kind)).toEqual(['aborted', 'aborted', 'aborted']);
  await expect(transport.stream('/watch')).rejects.toMatchObject({ kind: 'aborted' });
  await server.quiet();
});

it('close() ends a connection that is being opened', async () => {
  await setUp();
  const waiting = [transport.stream('/watch'), transport.request('GET', node)];
  const results = Promise.allSettled(waiting);
  await nextTurn();
  await transport.close();
  expect(await results).toMatchObject([{ reason: { kind: 'aborted' } }, { reason: { kind: 'aborted' } }]);
  await server.quiet();
});

function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.catch((error: unknown) => error);
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** An HTTP/2 frame of the connection. */
function frame(type: number, payload = Buffer.alloc(0)): Buffer {
  const header = Buffer.alloc(9);
  header.writeUIntBE(payload.length, 0, 3);
  header[3] = type;
  return Buffer.concat([header, payload]);
}

/** Relays connections to a server; `freeze` stops those that are open, as a cable that is pulled. */
async function startRelay(url: string): Promise<{ readonly url: string; freeze(): void }> {
  const sockets = new Set<Socket>();
  const relay = createServer((socket) => {
    const upstream = connect(Number(new URL(url).port), '127.0.0.1');
    for (const [from, to] of [
      [socket, upstream],
      [upstream, socket],
    ] as const) {
      sockets.add(from);
      from.on('error', () => {}).on('close', () => to.destroy());
      from.pipe(to);
    }
  });
  await once(relay.listen(0, '127.0.0.1'), 'listening');
  cleanUps.push(() => {
    for (const socket of sockets) socket.destroy();
    relay.close();
  });
  return {
    url: `https://127.0.0.1:${(relay.address() as AddressInfo).port}`,
    freeze: () => {
      for (const socket of sockets) socket.unpipe().pause();
    },
  };
}
