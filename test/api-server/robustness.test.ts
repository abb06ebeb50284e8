import { once } from 'node:events';
import { createConnection } from 'node:net';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { APIServer } from '../../src/api-server/index.ts';
import { PODS, podOf, rawRequest, startServer } from './harness.ts';

const JSON_PATCH = 'application/json-patch+json';
const MERGE_PATCH = 'application/merge-patch+json';

describe('resource exhaustion of APIServer', () => {
  it('rejects a JSON patch whose copies double the object 21 times', async () => {
    const { server, http } = await startServer();
    server.pods.create(podOf('p'));
    const body = [
      { op: 'add', path: '/metadata/annotations', value: { a: 'x'.repeat(100) } },
      ...Array.from({ length: 21 }, (_, i) => ({
        op: 'copy',
        from: '/metadata/annotations',
        path: `/metadata/annotations/copy-${i}`,
      })),
    ];
    const response = await http.request('PATCH', `${PODS}/p`, { contentType: JSON_PATCH, body });
    expect(response.body).toMatchObject({
      code: 422,
      message: 'the server rejected our request due to an error in our request',
    });
    expect(server.pods.get('default', 'p')?.metadata?.annotations).toBeUndefined();
  });

  it('refuses a JSON patch of more than 10,000 operations', async () => {
    const { server, http } = await startServer();
    server.pods.create(podOf('p'));
    const body = Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/kind', value: 'Pod' }));
    const response = await http.request('PATCH', `${PODS}/p`, { contentType: JSON_PATCH, body });
    expect(response.body).toMatchObject({ code: 413, reason: 'RequestEntityTooLarge' });
  });

  it('validates 50,000 conditions in linear time', async () => {
    const { server, http } = await startServer();
    server.pods.create(podOf('p'));
    const conditions = Array.from({ length: 50_000 }, (_, i) => ({ type: `T${i}`, status: 'True' }));
    for (const status of ['True', 'False']) {
      const body = { status: { conditions: conditions.map((condition) => ({ ...condition, status })) } };
      const response = await http.request('PATCH', `${PODS}/p/status`, { contentType: MERGE_PATCH, body });
      expect(response.status).toBe(200);
    }
    expect(server.pods.get('default', 'p')?.status?.conditions).toHaveLength(50_000);
  });

  it('disconnects a watcher that does not read after 16 MiB', async () => {
    const { server, http } = await startServer();
    server.pods.create(podOf('p'));
    const socket = createConnection(Number(new URL(server.url).port), '127.0.0.1');
    const closed = once(socket, 'close');
    socket.write(
      `GET ${PODS}?watch=1 HTTP/1.1\r\nHost: ${new URL(server.url).host}\r\nAuthorization: Bearer ${server.token}\r\n\r\n`,
    );
    await once(socket, 'readable');
    const isOver = () => server.requests.some(({ path }) => path.includes('watch=1'));
    const value = 'x'.repeat(200_000);
    let written = 0;
    // The kernel takes a few MB more than the server may hold.
    for (; !isOver() && written < 400; written++) {
      const body = { metadata: { annotations: { value: `${value}${written}` } } };
      await http.request('PATCH', `${PODS}/p`, { contentType: MERGE_PATCH, body });
    }
    expect(isOver()).toBe(true);
    expect(written * value.length).toBeGreaterThan(16 * 1024 * 1024);
    socket.resume();
    await closed;
  });

  it('sends a watcher an initial state of more than 16 MiB', async () => {
    const { server, http } = await startServer();
    const annotations = { value: 'x'.repeat(200_000) };
    for (let i = 0; i < 100; i++) server.pods.create(podOf(`p${i}`, {}, { annotations }));
    const watch = await http.watch(`${PODS}?watch=1`);
    for (let i = 0; i < 100; i++) expect((await watch.next()).value?.type).toBe('ADDED');
    server.pods.create(podOf('last'));
    expect((await watch.next()).value?.object.metadata.name).toBe('last');
    watch.close();
  });

  it('closes the connection after a 413', async () => {
    const { server } = await startServer();
    const { host, port } = new URL(server.url);
    const socket = createConnection(Number(port), '127.0.0.1');
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.on('error', () => {});
    const closed = once(socket, 'close');
    const head = [
      'Content-Type: application/json',
      'Content-Length: 100000000',
      `Authorization: Bearer ${server.token}`,
    ];
    socket.write(`POST ${PODS} HTTP/1.1\r\nHost: ${host}\r\n${head.join('\r\n')}\r\n\r\n{`);
    await closed;
    const text = Buffer.concat(chunks).toString();
    expect(text).toMatch(/^HTTP\/1.1 413 /);
    expect(text).toMatch(/connection: close/i);
  });
});

describe('an error in a callback', () => {
  it('becomes a process warning when onRequest throws, and the server continues', async () => {
    const warning = once(process, 'warning');
    const { http } = await startServer({
      onRequest: () => {
        throw new Error('of the test');
      },
    });
    expect((await http.request('GET', PODS)).status).toBe(200);
    expect(await warning).toEqual([
      expect.objectContaining({ name: 'APIServerWarning', message: 'onRequest threw: of the test' }),
    ]);
    expect((await http.request('GET', PODS)).status).toBe(200);
  });
});

describe('APIServer in a log', () => {
  it('does not show its tokens', async () => {
    await using server = await APIServer.start({ token: 'secret-of-the-admin', nodeUsers: ['node-a'] });
    const texts = [inspect(server, { depth: 9, showHidden: true }), JSON.stringify(server)];
    for (const text of texts) {
      expect(text).not.toContain('secret-of-the-admin');
      expect(text).not.toContain(server.nodeToken('node-a'));
    }
    expect(server.token).toBe('secret-of-the-admin');
  });
});

describe('requests that kube-apiserver accepts, too', () => {
  it('treats a body without a Content-Type as JSON', async () => {
    const { server } = await startServer();
    const headers = { authorization: `Bearer ${server.token}` };
    const response = await rawRequest(server, { method: 'POST', path: PODS, headers }, JSON.stringify(podOf('p')));
    expect(response.status).toBe(201);
  });

  it('serves /version with a slash', async () => {
    const { http } = await startServer();
    expect((await http.request('GET', '/version/')).body.gitVersion).toBe('v1.37.1');
  });
});
