import { describe, expect, it } from 'vitest';
import { APIServer } from '../../src/api-server/index.ts';
import { PODS, podOf, rawRequest, startServer } from './harness.ts';

describe('access to APIServer', () => {
  it('listens on 127.0.0.1', async () => {
    const { server } = await startServer();
    expect(new URL(server.url).hostname).toBe('127.0.0.1');
  });

  it('creates a new token for each server', async () => {
    const first = await startServer();
    const second = await startServer();
    expect(first.server.token).not.toBe(second.server.token);
    expect(first.server.token.length).toBeGreaterThanOrEqual(32);
  });

  it.for([
    ['no token', {}],
    ['a wrong token', { authorization: 'Bearer wrong' }],
    ['an empty token', { authorization: 'Bearer ' }],
    ['another scheme', { authorization: 'Basic YTpi' }],
  ] as const)('responds with 401 to %s', async ([, headers]) => {
    const { server } = await startServer();
    const response = await rawRequest(server, { path: PODS, headers });
    expect(response.status).toBe(401);
    expect(JSON.parse(response.body)).toMatchObject({ kind: 'Status', reason: 'Unauthorized', code: 401 });
  });

  it('responds with 401 to the token of another server', async () => {
    const { server } = await startServer();
    const other = await startServer();
    const headers = { authorization: `Bearer ${other.server.token}` };
    expect((await rawRequest(server, { path: PODS, headers })).status).toBe(401);
  });

  it.for(['/healthz', '/livez', '/readyz'])('tells its health at %s without a token', async (path) => {
    const { server } = await startServer();
    expect(await rawRequest(server, { path })).toEqual({ status: 200, body: 'ok' });
  });

  it.for(['127.0.0.1', 'localhost', '[::1]'])('takes %s with its port as Host', async (name) => {
    const { server } = await startServer();
    const host = `${name}:${new URL(server.url).port}`;
    const headers = { host, authorization: `Bearer ${server.token}` };
    expect((await rawRequest(server, { headers })).status).toBe(200);
  });

  it.for([
    ['another name', (port: string) => `evil.example:${port}`],
    ['a name that begins like one', (port: string) => `127.0.0.1.evil.example:${port}`],
    ['another port', () => '127.0.0.1:1'],
    ['no port', () => 'localhost'],
  ] as const)('responds with 403 to a Host with %s', async ([, hostOf]) => {
    const { server } = await startServer();
    const headers = { host: hostOf(new URL(server.url).port), authorization: `Bearer ${server.token}` };
    expect((await rawRequest(server, { headers })).status).toBe(403);
  });

  it.for(['https://evil.example', 'null', 'http://127.0.0.1'])('responds with 403 to the Origin %s', async (origin) => {
    const { server } = await startServer();
    const headers = { origin, authorization: `Bearer ${server.token}` };
    expect((await rawRequest(server, { headers })).status).toBe(403);
  });

  it.for(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data'])(
    'responds with 415 to a write of type "%s" and stores nothing',
    async (contentType) => {
      const { server } = await startServer();
      const headers = {
        authorization: `Bearer ${server.token}`,
        'content-type': contentType,
      };
      const response = await rawRequest(server, { method: 'POST', path: PODS, headers }, JSON.stringify(podOf('p')));
      expect(response.status).toBe(415);
      expect(server.pods.list()).toEqual([]);
    },
  );

  it('responds with 413 to a body above 3 MiB, and serves the next request', async () => {
    const { server, http } = await startServer();
    const body = JSON.stringify({ ...podOf('p'), filler: 'x'.repeat(3 * 1024 * 1024) });
    expect((await http.request('POST', PODS, { body })).body).toMatchObject({ code: 413 });
    expect((await http.request('POST', PODS, { body: podOf('p') })).status).toBe(201);
    expect(server.pods.list()).toHaveLength(1);
  });

  it.for([
    ['no JSON', '{bad'],
    ['a list', '[]'],
    ['a number', '5'],
    ['deep nesting', `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
  ] as const)('responds with 400 to a body that is %s', async ([, body]) => {
    const { http } = await startServer();
    expect((await http.request('POST', PODS, { body })).status).toBe(400);
  });

  it('treats fields named like those of Object.prototype as plain fields', async () => {
    const { server, http } = await startServer();
    const body = `{"metadata":{"name":"p","labels":{"constructor":"a","toString":"b"},"__proto__":{"uid":"x"}},
      "spec":{"containers":[{"name":"c","image":"i"}],"__proto__":{"nodeName":"n"}},"__proto__":{"kind":"Node"}}`;
    expect((await http.request('POST', PODS, { body })).status).toBe(201);
    const patch =
      '{"metadata":{"annotations":{"constructor":"c"},"__proto__":{"polluted":"yes"}},"__proto__":{"polluted":"yes"}}';
    for (const contentType of ['application/merge-patch+json', 'application/strategic-merge-patch+json']) {
      expect((await http.request('PATCH', `${PODS}/p`, { body: patch, contentType })).status).toBe(200);
    }
    expect(server.pods.get('default', 'p')?.metadata?.labels).toEqual({ constructor: 'a', toString: 'b' });
    expect(Object.prototype).not.toHaveProperty('polluted');
  });

  it('has no token in its responses and records', async () => {
    const { server, http } = await startServer();
    const responses = [await http.request('GET', '/nope'), await http.request('GET', `${PODS}/nope`)];
    expect(JSON.stringify([responses, server.requests])).not.toContain(server.token);
  });

  it('serves TLS with a certificate that clients accept, unless disabled', async () => {
    const { server, http } = await startServer({ tls: true });
    expect(server.url).toMatch(/^https:/);
    expect((await http.request('GET', '/api')).status).toBe(200);
  });

  it('rejects a node user that is not in nodeUsers', async () => {
    const { server } = await startServer({ nodeUsers: ['node-a'] });
    expect(server.nodeToken('node-a')).not.toBe(server.token);
    expect(() => server.nodeToken('node-b')).toThrow(RangeError);
  });

  it('fails to start on a port that is taken', async () => {
    const { server } = await startServer();
    await expect(APIServer.start({ port: Number(new URL(server.url).port) })).rejects.toThrow(/EADDRINUSE/);
  });
});
