import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { APIServer, type RequestRecord } from '../../src/api-server/index.ts';
import { FakeClock } from '../../src/testing/fake-clock.ts';
import { KubeHTTP } from '../support/kube-http.ts';
import { PODS, podOf, startServer } from './harness.ts';

const status = 'application/strategic-merge-patch+json';
const gone = /ECONNREFUSED|other side closed|ECONNRESET/;

describe('APIServer', () => {
  it('returns a kubeconfig for the admin and for a node, as an object and as text', async () => {
    const { server } = await startServer({ tls: true, nodeUsers: ['node-a'] });
    expect(server.kubeconfig()).toMatchObject({
      clusters: [{ cluster: { server: server.url } }],
      users: [{ user: { token: server.token } }],
    });
    expect(server.kubeconfig('node-a')).toMatchObject({ users: [{ user: { token: server.nodeToken('node-a') } }] });
    expect(JSON.parse(server.kubeconfigYaml())).toEqual(server.kubeconfig());
  });

  it.for([{ latencyMs: -1 }, { latencyMs: NaN }, { historyLimit: 0 }])('refuses to start with %o', async (options) => {
    await expect(APIServer.start(options)).rejects.toThrow(RangeError);
  });

  it('uses the injected clock for timestamps', async () => {
    const clock = new FakeClock('2026-01-02T03:04:05.678Z');
    const { server } = await startServer({ clock });
    const pod = server.pods.create(podOf('p'));
    expect(pod.metadata?.creationTimestamp).toBe('2026-01-02T03:04:05Z');
    clock.advance(10_000);
    server.pods.delete('default', 'p', { gracePeriodSeconds: 20 });
    expect(server.pods.get('default', 'p')?.metadata).toMatchObject({
      deletionTimestamp: '2026-01-02T03:04:35Z',
      deletionGracePeriodSeconds: 20,
    });
  });

  it('responds after latencyMs of its clock', async () => {
    const clock = new FakeClock();
    const { http } = await startServer({ clock, latencyMs: 50 });
    const result = http.request('GET', '/api');
    while (clock.pendingTimers === 0) await clock.yieldToEventLoop();
    clock.advance(50);
    expect((await result).status).toBe(200);
  });

  it('keeps the history of an object by UID and by name', async () => {
    const { server, http } = await startServer({ nodeUsers: ['node-a'] });
    const { metadata } = server.pods.create(podOf('p'));
    const uid = metadata?.uid ?? '';
    await http.request('PATCH', `${PODS}/p/status`, {
      body: { status: { phase: 'Running' } },
      contentType: status,
      token: server.nodeToken('node-a'),
    });
    server.pods.delete('default', 'p', { gracePeriodSeconds: 0 });
    server.pods.create(podOf('p'));

    const history = server.history(uid);
    expect(history.map(({ verb, type, user }) => `${verb} ${type} ${user}`)).toEqual([
      'create ADDED system:admin',
      'patch MODIFIED system:node:node-a',
      'delete MODIFIED system:admin',
      'delete DELETED system:admin',
    ]);
    expect(history[1]?.object).toMatchObject({ metadata: { uid }, status: { phase: 'Running' } });
    const versions = history.map(({ resourceVersion }) => Number(resourceVersion));
    expect(versions).toEqual(versions.toSorted((a, b) => a - b));
    expect(server.history('default/p')).toHaveLength(5);
    expect(server.history('default/q')).toEqual([]);
  });

  it('drops the oldest writes beyond historyLimit, and responds with 410 to a watch from a dropped one', async () => {
    const { server, http } = await startServer({ historyLimit: 4 });
    const first = server.pods.create(podOf('p'));
    for (let i = 0; i < 10; i++) server.pods.patchStatus('default', 'p', { status: { message: String(i) } });
    const kept = server.history('default/p');
    expect(kept.length).toBeGreaterThanOrEqual(4);
    expect(kept.length).toBeLessThan(9);
    expect(kept.at(-1)?.object).toMatchObject({ status: { message: '9' } });
    const events = await http.watch(`${PODS}?watch=1&resourceVersion=${first.metadata?.resourceVersion}`);
    expect((await events.next()).value).toMatchObject({ type: 'ERROR', object: { code: 410, reason: 'Expired' } });
    expect((await events.next()).done).toBe(true);
  });

  it('records requests, and calls onRequest when a response is complete', async () => {
    const told: RequestRecord[] = [];
    const { server, http } = await startServer({ onRequest: (request) => told.push(request) });
    await http.request('GET', `${PODS}/p?x=y`);
    await http.request('GET', PODS, { token: 'wrong' });
    while (told.length < 2) await new Promise(setImmediate);
    expect(told).toEqual([
      { method: 'GET', path: `${PODS}/p?x=y`, status: 404, user: 'system:admin', contentType: '', body: '' },
      { method: 'GET', path: PODS, status: 401, user: '', contentType: '', body: '' },
    ]);
    expect(server.requests).toEqual(told);
  });

  it('returns copies of pods, and does not mutate its arguments', async () => {
    const { server } = await startServer();
    const given = Object.freeze(podOf('p'));
    const created = server.pods.create(given) as { metadata: { name: string } };
    created.metadata.name = 'changed';
    expect(server.pods.get('default', 'p')?.metadata?.name).toBe('p');
    expect(given).toEqual(podOf('p'));
  });

  it('sets the Date header from its clock', async () => {
    const clock = new FakeClock('2026-01-02T03:04:05Z');
    await using server = await APIServer.start({ clock, tls: false });
    const { headers } = await fetch(`${server.url}/healthz`);
    expect(headers.get('date')).toBe('Fri, 02 Jan 2026 03:04:05 GMT');
  });

  it('rejects a patch with a field that it does not write, and names the field', async () => {
    const { server } = await startServer();
    server.pods.create(podOf('p'));
    server.nodes.create('n');
    const { pods, nodes } = server;
    expect(() => pods.patchStatus('default', 'p', { phase: 'Running' } as never)).toThrow(
      'patchStatus writes metadata and status of an object, got a patch with `phase`',
    );
    expect(() => nodes.patchStatus('n', { spec: {} } as never)).toThrow('got a patch with `spec`');
    expect(() => pods.patch('default', 'p', { status: {} } as never)).toThrow('got a patch with `status`');
    expect(() => nodes.patch('n', { unschedulable: true } as never)).toThrow('got a patch with `unschedulable`');
    expect(() => pods.patchStatus('default', 'p', { status: { fase: 'Running' } as never })).toThrow(
      /strict decoding error: unknown field .*status\.fase/,
    );
    expect(() => nodes.patch('n', { spec: { unschedulabel: true } })).toThrow('unschedulabel');
    expect(pods.get('default', 'p')?.status?.phase).toBe('Pending');
  });

  it('throws from `pods` the error of the HTTP response', async () => {
    const { server } = await startServer();
    expect(() => server.pods.patch('default', 'p', {})).toThrow(
      expect.objectContaining({ name: 'APIStatusError', code: 404, reason: 'NotFound' }),
    );
    server.pods.create(podOf('p'));
    expect(() => server.pods.create(podOf('p'))).toThrow(
      expect.objectContaining({ code: 409, reason: 'AlreadyExists' }),
    );
    expect(() => server.pods.delete('default', 'p', { uid: 'other' })).toThrow(
      expect.objectContaining({ code: 409, reason: 'Conflict' }),
    );
  });
});

describe('closing APIServer', () => {
  it('leaves no timer behind, whatever is in flight', async () => {
    const clock = new FakeClock();
    const { server, http } = await startServer({ clock });
    const events = await http.watch(`${PODS}?watch=1&allowWatchBookmarks=1&resourceVersion=0`);
    expect((await events.next()).value).toMatchObject({ type: 'BOOKMARK' });
    expect(clock.pendingTimers).toBe(2);
    const ended = events.next().catch(() => ({ done: true }));
    await server.close();
    expect(clock.pendingTimers).toBe(0);
    expect((await ended).done).toBe(true);
    await expect(http.request('GET', '/api')).rejects.toThrow(gone);
  });

  it('leaves no timer of a request whose response is delayed', async () => {
    const clock = new FakeClock();
    const { server, http } = await startServer({ clock, latencyMs: 1000 });
    const result = http.request('GET', '/api').then(
      () => 'responded',
      () => 'cut',
    );
    while (clock.pendingTimers === 0) await clock.yieldToEventLoop();
    await server.close();
    expect(clock.pendingTimers).toBe(0);
    expect(await result).toBe('cut');
  });

  it('does not wait for a connection that is still in the TLS handshake', async () => {
    const { server, http } = await startServer({ tls: true });
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    const closed = once(socket, 'close');
    await once(socket, 'connect');
    // The response arrives after the server has accepted the earlier connection.
    await http.request('GET', '/healthz');
    await server.close();
    await closed;
    expect(socket.destroyed).toBe(true);
  });

  it('works with `await using`, and is idempotent', async () => {
    let url: string;
    {
      await using server = await APIServer.start({ tls: false });
      ({ url } = server);
      await server.close();
    }
    const http = new KubeHTTP({ url });
    await expect(http.request('GET', '/healthz')).rejects.toThrow(gone);
    await http.close();
  });

  it('keeps objects, port and tokens across kill and startAgain', async () => {
    const { server, http } = await startServer();
    const { metadata } = server.pods.create(podOf('p'));
    const { url } = server;
    await server.kill();
    await expect(http.request('GET', `${PODS}/p`)).rejects.toThrow(gone);
    await server.startAgain();
    expect(server.url).toBe(url);
    expect((await http.request('GET', `${PODS}/p`)).body.metadata.uid).toBe(metadata?.uid);
  });
});

describe('a watch of APIServer', () => {
  it('sends a bookmark every minute, and ends at timeoutSeconds', async () => {
    const clock = new FakeClock();
    const { server, http } = await startServer({ clock });
    const version = server.pods.create(podOf('p')).metadata?.resourceVersion;
    const query = `watch=1&allowWatchBookmarks=1&resourceVersion=${version}&timeoutSeconds=90`;
    const events = await http.watch(`${PODS}?${query}`);
    clock.advance(60_000);
    const bookmark = {
      type: 'BOOKMARK',
      object: { kind: 'Pod', apiVersion: 'v1', metadata: { resourceVersion: version } },
    };
    expect((await events.next()).value).toEqual(bookmark);
    clock.advance(28_000);
    expect((await events.next()).value).toEqual(bookmark);
    clock.advance(2000);
    expect((await events.next()).done).toBe(true);
    expect(clock.pendingTimers).toBe(0);
  });

  it('by node begins with the binding of a pod, and ends with its deletion', async () => {
    const { server, http } = await startServer();
    const events = await http.watch(`/api/v1/pods?watch=1&resourceVersion=0&fieldSelector=spec.nodeName%3Dnode-a`);
    const eventOf = async (): Promise<unknown> => {
      const { type, object } = (await events.next()).value!;
      return [type, object.metadata.name, object.status.phase];
    };
    for (const [name, node] of [
      ['elsewhere', 'node-b'],
      ['here', 'node-a'],
    ]) {
      server.pods.create(podOf(name!, { nodeName: undefined }));
      const body = { metadata: { name }, target: { kind: 'Node', name: node } };
      await http.request('POST', `${PODS}/${name}/binding`, { body });
      server.pods.patchStatus('default', name!, { status: { phase: 'Running' } });
    }
    expect(await eventOf()).toEqual(['ADDED', 'here', 'Pending']);
    expect(await eventOf()).toEqual(['MODIFIED', 'here', 'Running']);
    for (const name of ['elsewhere', 'here']) await http.request('DELETE', `${PODS}/${name}?gracePeriodSeconds=0`);
    // With its deletionTimestamp.
    expect(await eventOf()).toEqual(['MODIFIED', 'here', 'Running']);
    expect(await eventOf()).toEqual(['DELETED', 'here', 'Running']);
    events.close();
  });

  it('clears its timers when the client disconnects', async () => {
    const clock = new FakeClock();
    const { http } = await startServer({ clock });
    const events = await http.watch(`${PODS}?watch=1&resourceVersion=0`);
    expect(clock.pendingTimers).toBe(1);
    events.close();
    while (clock.pendingTimers > 0) await clock.yieldToEventLoop();
    expect(clock.pendingTimers).toBe(0);
  });
});
