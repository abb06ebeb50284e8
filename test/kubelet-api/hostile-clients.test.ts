import { EventEmitter, once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect as connectTCP, type Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { connect as connectTLS } from 'node:tls';
import { createPrometheusMetrics } from 'kubelet-status-manager/prometheus';
import { FakeClock } from 'kubelet-status-manager/testing';
import { Registry } from 'prom-client';
import { afterEach, describe, expect, it } from 'vitest';
import { ReviewCache } from '../../src/kubelet-api/review-cache.ts';
import { testPod, TestServer } from './test-server.ts';

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

async function opened<Client extends Socket>(socket: Client, event: string): Promise<Client> {
  sockets.push(socket.on('error', () => {}));
  await once(socket, event);
  return socket;
}

const openTCP = (port: number): Promise<Socket> => opened(connectTCP(port, '127.0.0.1'), 'connect');

/** Never closes its side of the connection. */
async function openTLS(port: number): Promise<Socket> {
  const socket = await opened(connectTCP({ port, host: '127.0.0.1', allowHalfOpen: true }), 'connect');
  return opened(connectTLS({ socket, rejectUnauthorized: false }), 'secureConnect');
}

function closed(socket: Socket): Promise<unknown> {
  return new Promise((resolve) => (socket.closed ? resolve(undefined) : socket.once('close', resolve)));
}

it('an upgrade that is refused does not keep its connection, even if the client never closes it', async () => {
  await using server = await TestServer.start();
  const clients = await Promise.all(Array.from({ length: 20 }, () => openTLS(server.port)));
  for (const client of clients) {
    client.write('POST /exec/default/web/app HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n');
    const [response] = (await once(client, 'data')) as [Buffer];
    expect(response.toString()).toMatch(/^HTTP\/1\.1 401 Unauthorized\r\n/);
  }
  server.clock.advance(499);
  expect(clients.map((client) => client.write('still here'))).not.toContain(false);
  server.clock.advance(1);
  // The connection is gone: what the client sends is reset.
  await Promise.all(clients.map((client) => (client.write('still here'), closed(client))));
});

describe('idle connections', () => {
  it('do not keep other clients from being served: those that were used least recently are closed', async () => {
    await using server = await TestServer.start();
    const first = await openTCP(server.port);
    for (let i = 0; i < 600; i++) await openTCP(server.port);
    expect(await server.get('/healthz')).toMatchObject({ status: 200, text: 'ok' });
    await closed(first);
    expect(sockets.filter((socket) => !socket.destroyed).length).toBeLessThanOrEqual(512);
    expect(server.logger.warnings).toMatchObject([
      {
        message: 'Too many connections: those that were used least recently are closed',
        fields: { maxConnections: 512, count: 1 },
      },
    ]);
  });

  it('do not end the requests of known clients', async () => {
    let finish = (_text: string): void => {};
    let begin = (): void => {};
    const begun = new Promise<void>((resolve) => (begin = resolve));
    const metrics = (): Promise<string> => {
      begin();
      return new Promise((resolve) => (finish = resolve));
    };
    await using server = await TestServer.start({ register: { contentType: 'text/plain', metrics } });
    const slow = server.get('/metrics');
    await begun;
    for (let i = 0; i < 600; i++) await openTCP(server.port);
    finish('a 1\n');
    expect(await slow).toMatchObject({ status: 200, text: 'a 1\n' });
  });
});

it('a request whose client has gone while it was reviewed is not served', async () => {
  let calls = 0;
  const register = { contentType: 'text/plain', metrics: async () => `calls ${++calls}` };
  await using server = await TestServer.start({ register });
  const release = server.reviews.hold();
  const request = server.request('/metrics', { token: 'admin-token' }).on('error', () => {});
  request.end();
  await expect.poll(() => server.reviews.requests.length).toBe(1);
  request.destroy();
  // Another client is served after the server has noticed that.
  expect((await server.get('/metrics', { headers: { authorization: 'Basic YTpi' } })).status).toBe(401);
  release();
  expect((await server.get('/metrics')).text).toBe('calls 1');
});

it.skipIf(process.platform !== 'linux')(
  'a client whose machine is gone is noticed while nothing is sent: connections are probed',
  async () => {
    await using server = await TestServer.start();
    await opened(connectTLS({ port: server.port, rejectUnauthorized: false }), 'secureConnect');
    const port = server.port.toString(16).toUpperCase().padStart(4, '0');
    // Number, own address, other address, state (1: established), queues, timer (2: keep-alive) and when it is due, in 10 ms.
    const [, due] =
      new RegExp(`:${port} \\w+:\\w+ 01 \\S+ 02:(\\w+)`).exec(readFileSync('/proc/net/tcp', 'utf8')) ?? [];
    expect(Number.parseInt(due!, 16)).toBeLessThanOrEqual(1500);
  },
);

describe('requests that a client sends without waiting for the responses', () => {
  const request = (path: string): string =>
    `GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer admin-token\r\n\r\n`;

  it('are served one at a time, and end with their connection', async () => {
    const signals: AbortSignal[] = [];
    const events = new EventEmitter();
    await using server = await TestServer.start({
      runtime: {
        listPods: async () => [],
        getPod: async () => undefined,
        execSync: async () => ({ exitCode: 0, stdout: '', stderr: '' }),
        streamContainerLog: async (_id, _log, options) => {
          signals.push(options!.signal!);
          events.emit('began');
          return new PassThrough();
        },
      },
    });
    const status = { containerStatuses: [{ name: 'app', containerID: 'fake://1', state: { running: {} } }] };
    server.pods.push(testPod('web', status));
    const { port } = server;
    const client = await opened(connectTLS({ port, rejectUnauthorized: false }).resume(), 'secureConnect');
    client.write(request('/containerLogs/default/web/app?follow=true').repeat(2));
    await once(events, 'began');
    // A client that has more than one request wait is disconnected.
    client.write(request('/healthz'));
    await closed(client);
    await expect.poll(() => signals.map(({ aborted }) => aborted)).toEqual([true]);
    await server.get('/healthz');
    expect(signals.length).toBe(1);
  });

  it('get their responses in the order of the requests', async () => {
    await using server = await TestServer.start();
    const client = await openTLS(server.port);
    let text = '';
    client.on('data', (chunk: Buffer) => (text += chunk.toString()));
    client.write(request('/healthz') + request('/unknown'));
    await expect.poll(() => text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 404']);
  });
});

describe('made-up tokens', () => {
  it('are reviewed eight at a time; surplus requests get 429, and known users are served', async () => {
    const register = new Registry();
    await using server = await TestServer.start({ metrics: createPrometheusMetrics({ register }) });
    await server.get('/stats/');
    const respond = server.reviews.hold();
    let surplus = 0;
    const replies: Promise<number>[] = [];
    await new Promise<void>((resolve) => {
      for (let i = 0; i < 200; i++)
        replies.push(
          server.get('/stats/', { token: `made-up-${i}` }).then(({ status }) => {
            if (status === 429 && ++surplus === 128) resolve();
            return status;
          }),
        );
    });
    expect(server.reviews.of('TokenReview').length).toBe(1 + 8);
    expect((await server.get('/stats/')).status).toBe(404);
    respond();
    const statuses = await Promise.all(replies);
    expect(statuses.filter((status) => status === 401).length).toBe(72);
    expect(await register.metrics()).toContain(
      'kubelet_node_agent_rejected_reviews_total{resource="tokenreviews"} 128\n',
    );
    expect(server.logger.warnings).toMatchObject([
      {
        message: 'Too many reviews for the kubelet API: requests get 429',
        fields: { resource: 'tokenreviews', maxPending: 72, count: 1 },
      },
    ]);
  });

  it('do not keep a known user out whose results have expired', async () => {
    await using server = await TestServer.start();
    await server.get('/stats/');
    server.clock.advance(600_000);
    const respond = server.reviews.hold();
    const madeUp = Array.from({ length: 73 }, (_, i) => server.get('/stats/', { token: `made-up-${i}` }));
    // The first response: too many reviews are pending.
    expect((await Promise.race(madeUp)).status).toBe(429);
    const known = server.get('/stats/');
    expect((await server.get('/stats/', { token: 'one-more' })).status).toBe(429);
    respond();
    expect((await known).status).toBe(404);
    await Promise.all(madeUp);
  });

  it('do not make the results for known tokens be forgotten', async () => {
    const clock = new FakeClock();
    const cache = new ReviewCache<string | undefined>(clock, { acceptedMs: 1000, refusedMs: 1000 });
    await cache.get('known', async () => 'admin');
    for (let i = 0; i < 10_000; i++) await cache.get(`made-up-${i}`, async () => undefined);
    expect(await cache.get('known', () => Promise.reject(new Error('reviewed again')))).toBe('admin');
    // Neither are all refusals kept.
    expect(await cache.get('made-up-9999', async () => 'accepted')).toBe(undefined);
    expect(await cache.get('made-up-0', async () => 'accepted')).toBe('accepted');
  });
});
