import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { HTTPPodClient } from '../../../src/kube/http/index.ts';
import { createPodClient } from '../../../src/kube/http/index.ts';
import { FakeClock } from '../../../src/testing/fake-clock.ts';
import { type RecordingLogger, recordingLogger } from '../../../src/testing/recording-logger.ts';
import { kubeConfig, signal } from './kube-configs.ts';
import type { KubeServer } from './kube-server.ts';
import { json, pod, startKubeServer } from './kube-server.ts';

let server: KubeServer;
let clock: FakeClock;
let client: HTTPPodClient;
let logger: RecordingLogger;
/** Requests that the server has received and not responded to, by path. */
let held: { readonly url: string; readonly response: ServerResponse }[];
let arrival: () => void;

beforeEach(async () => {
  server = await startKubeServer();
  held = [];
  arrival = () => {};
  server.respond = ({ url }, response) => {
    held.push({ url, response });
    arrival();
  };
  clock = new FakeClock();
  logger = recordingLogger();
  client = createPodClient(kubeConfig(server.url), { env: {}, clock, logger, connections: 2 });
});
afterEach(async () => {
  await client.transport.close();
  await server.quiet();
  await server[Symbol.asyncDispose]();
});

/** Resolves when the server holds this many requests. */
async function holding(count: number): Promise<void> {
  while (held.length < count) await new Promise<void>((resolve) => (arrival = resolve));
}

function respondToAll(): void {
  for (const { response } of held.splice(0)) json(response, pod('web'));
}

function get(name: string, events: string[] = [], abort: AbortSignal = signal()): Promise<unknown> {
  return client.getPod(
    { namespace: 'default', name },
    {
      signal: abort,
      onQueued: () => void events.push(`${name} queued`),
      onStarted: () => void events.push(`${name} started`),
    },
  );
}

describe('a slow API server', () => {
  it('calls onQueued and onStarted of requests that wait for a connection, in FIFO order', async () => {
    const events: string[] = [];
    const requests = ['a', 'b', 'c', 'd'].map((name) => get(name, events));
    await holding(2);
    expect(events).toEqual(['c queued', 'd queued']);
    respondToAll();
    await holding(2);
    expect(events).toEqual(['c queued', 'd queued', 'c started', 'd started']);
    expect(held.map(({ url }) => url.split('/').at(-1))).toEqual(['c', 'd']);
    respondToAll();
    await Promise.all(requests);
  });

  it('the wait for a connection has its own timeout and error kind', async () => {
    const requests = ['a', 'b'].map((name) => get(name));
    const waiting = get('c');
    clock.advance(60_000);
    await expect(waiting).rejects.toMatchObject({
      kind: 'connection-wait',
      message: 'no connection became free within 60000 ms (all 2 are in use)',
    });
    await holding(2);
    respondToAll();
    await Promise.all(requests);
    expect(clock.pendingTimers).toBe(0);
  });

  it('a queued request whose onStarted throws neither leaks its connection nor fails the request before it', async () => {
    const fail = (): never => {
      throw new Error('broken');
    };
    const requests = ['a', 'b'].map((name) => get(name));
    const broken = { signal: signal(), onQueued: fail, onStarted: fail };
    const queued = ['c', 'd'].map((name) => client.getPod({ namespace: 'default', name }, broken));
    const behind = ['e', 'f'].map((name) => get(name));
    for (const _ of [1, 2, 3]) {
      await holding(2);
      respondToAll();
    }
    await Promise.all([...requests, ...queued, ...behind]);
    expect(logger.warnings.map(({ fields }) => fields)).toMatchObject([
      { method: 'onQueued', reason: 'broken' },
      { method: 'onQueued' },
      { method: 'onStarted' },
      { method: 'onStarted' },
    ]);
  });

  it('a request that is aborted while it waits leaves the queue', async () => {
    const requests = ['a', 'b'].map((name) => get(name));
    const controller = new AbortController();
    const aborted = get('c', [], controller.signal);
    const behind = get('d');
    controller.abort();
    await expect(aborted).rejects.toMatchObject({ kind: 'aborted' });
    await expect(get('e', [], controller.signal)).rejects.toMatchObject({ kind: 'aborted' });
    await holding(2);
    respondToAll();
    await holding(1);
    expect(held[0]?.url).toContain('/pods/d');
    respondToAll();
    await Promise.all([...requests, behind]);
  });

  it('heartbeats never wait behind status updates: they have separate connections', async () => {
    const requests = ['a', 'b', 'c', 'd'].map((name) => get(name));
    await holding(2);
    const heartbeats = [
      client.transport.request('PUT', '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n', { body: {} }),
      client.transport.request('PATCH', '/api/v1/nodes/n/status', { body: {} }),
    ];
    await holding(4);
    expect(held.filter(({ url }) => url.endsWith('/leases/n') || url.endsWith('/nodes/n/status'))).toHaveLength(2);
    respondToAll();
    await Promise.all(heartbeats);
    await holding(2);
    respondToAll();
    await Promise.all(requests);
  });

  it('closing also ends queued requests', async () => {
    const requests = ['a', 'b', 'c'].map((name) => get(name));
    await holding(2);
    const ended = Promise.allSettled(requests);
    await client.transport.close();
    for (const result of await ended) expect(result).toMatchObject({ status: 'rejected', reason: { kind: 'aborted' } });
  });
});

type Behaviour = (socket: Socket) => void;

it.each<[string, Behaviour]>([
  ['accepts and closes', (socket) => socket.end()],
  ['accepts and resets', (socket) => socket.resetAndDestroy()],
  ['closes when the request has arrived', (socket) => socket.once('data', () => socket.destroy())],
  ['responds with something other than HTTP', (socket) => socket.end('garbage\r\n\r\n')],
  ['closes after an informational response', (socket) => socket.end('HTTP/1.1 100 Continue\r\n\r\n')],
])('a server that %s gets one connection for each request', async (_what, behave) => {
  let connections = 0;
  const closing = createServer((socket) => {
    connections++;
    socket.on('error', () => {});
    behave(socket);
  });
  await once(closing.listen(0, '127.0.0.1'), 'listening');
  const { port } = closing.address() as AddressInfo;
  const other = createPodClient(kubeConfig(`http://127.0.0.1:${port}`), { env: {}, logger, connections: 2 });
  const results = await Promise.allSettled(
    Array.from({ length: 6 }, () => other.getPod({ namespace: 'default', name: 'a' }, { signal: signal() })),
  );
  expect(results.map(({ status }) => status)).toEqual(Array.from({ length: 6 }, () => 'rejected'));
  expect(connections).toBe(6);
  await other.transport.close();
  closing.close();
});
