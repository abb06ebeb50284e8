import { createServer, type IncomingHttpHeaders, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { createStatusPage, type StatusPageOptions } from 'kubelet-status-manager/statusz';
import type { PodDocument } from '../../../src/observe/statusz/pod-document.ts';
import type { StatusDocument } from '../../../src/observe/statusz/status-document.ts';
import { fault } from '../../../src/testing/index.ts';
import { DemoNode, fillNode, type PodState, serve } from './demo-node.ts';

interface Response {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const cleanUps: (() => PromiseLike<void>)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

async function startNode(options: StatusPageOptions = {}) {
  const node = new DemoNode(options);
  const server = await serve(node.page);
  cleanUps.push(
    () => server[Symbol.asyncDispose](),
    () => node.manager.stop(),
  );
  node.manager.start();
  return {
    node,
    server: server.server,
    url: server.url,
    get: (path: string, sent?: Sent) => send(`${server.url}${path}`, sent),
    json: async <T>(path: string) => JSON.parse((await send(`${server.url}${path}`)).body.toString()) as T,
  };
}

/** Unlike fetch, it sends any Host and follows no redirect. */
function send(url: string, { method = 'GET', headers = {} }: Sent = {}): Promise<Response> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        resolve({ status: response.statusCode!, headers: response.headers, body: Buffer.concat(chunks) }),
      );
      response.on('error', reject);
    });
    sent.on('error', reject);
    sent.end();
  });
}

describe('paths', () => {
  it.each(['/statusz/', '/statusz/?x=1', '/'])('%s is the page', async (path) => {
    const { get } = await startNode();
    const { status, headers, body } = await get(path);
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    expect(body.toString()).toMatch(/^<!doctype html>/);
  });

  it('the page refers to its files with relative links, so its address must end with a slash', async () => {
    const { get } = await startNode();
    expect(await get('/statusz')).toMatchObject({ status: 308, headers: { location: './statusz/' } });
  });

  it.each([
    ['/statusz/main.js', 'text/javascript; charset=utf-8'],
    ['/statusz/statusz.css', 'text/css; charset=utf-8'],
    ['/statusz/icon.svg', 'image/svg+xml'],
    ['/statusz/pods.json', 'application/json'],
  ])('%s is %s', async (path, type) => {
    const { get } = await startNode();
    expect(await get(path)).toMatchObject({ status: 200, headers: { 'content-type': type } });
  });

  it('every file that the page and its modules refer to exists', async () => {
    const { get } = await startNode();
    const seen = new Set<string>();
    const visit = async (name: string): Promise<void> => {
      if (seen.has(name)) return;
      seen.add(name);
      const { status, body } = await get(`/statusz/${name}`);
      expect([name, status]).toEqual([name, 200]);
      const references = /(?:href|src)="([^"]+)"|from '\.\/([^']+)'/g;
      for (const [, link, module] of body.toString().matchAll(references)) await visit((link ?? module)!);
    };
    await visit('');
    expect(seen.size).toBeGreaterThan(8);
  });

  it.each([
    '/statusz/none.js',
    '/statusz/tsconfig.json',
    '/statusz/../package.json',
    '/statusz/..%2fpackage.json',
    '/statusz/pods/none.json',
    '/statusz/pods/%ff.json',
    '/statuszz',
    '/statusz/__proto__',
  ])('%s is not found', async (path) => {
    const { get } = await startNode();
    expect((await get(path)).status).toBe(404);
  });

  it('the server may remove the path, as Express does', async () => {
    const node = new DemoNode();
    // What `app.use('/admin/statusz', page)` does with a request.
    const server = createServer((request: IncomingMessage & { originalUrl?: string }, response: ServerResponse) => {
      request.originalUrl = request.url!;
      request.url = request.url!.replace('/admin/statusz', '') || '/';
      node.page(request, response);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    cleanUps.push(async () => void server.close());
    expect(await send(`${url}/admin/statusz`)).toMatchObject({ status: 308, headers: { location: './statusz/' } });
    expect((await send(`${url}/admin/statusz/`)).headers['content-type']).toMatch('text/html');
    expect((await send(`${url}/admin/statusz/pods.json`)).headers['content-type']).toBe('application/json');
  });

  it('another path can be chosen', async () => {
    const { get } = await startNode({ path: '/debug/pods' });
    expect((await get('/debug/pods/pods.json')).status).toBe(200);
    expect((await get('/statusz/pods.json')).status).toBe(404);
  });
});

it('inspects a large manager at most a tenth of the time, however often clients ask for the details of pods', async () => {
  const node = new DemoNode();
  node.set(node.add('web-0'));
  const { manager, clock } = node;
  let inspections = 0;
  const page = createStatusPage(
    {
      explain: (podUID) => manager.explain(podUID),
      getPodStatus: (podUID) => manager.getPodStatus(podUID),
      subscribe: (listener) => manager.subscribe(listener),
      inspect: () => {
        inspections += 1;
        clock.advance(400);
        return manager.inspect();
      },
    },
    { clock },
  );
  const server = await serve(page);
  cleanUps.push(() => server[Symbol.asyncDispose]());
  inspections = 0;
  for (let i = 0; i < 20; i++) {
    expect((await send(`${server.url}/statusz/pods/uid-web-0.json`)).status).toBe(200);
    clock.advance(400);
  }
  // Of 8 s, each 4.4 s.
  expect(inspections).toBe(2);
});

describe('only reads', () => {
  it.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'])('%s is refused', async (method) => {
    const { get } = await startNode();
    for (const path of ['/statusz/', '/statusz/pods.json', '/statusz/none'])
      expect(await get(path, { method })).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } });
  });

  it('HEAD has the headers of GET and no body', async () => {
    const { get } = await startNode();
    const { status, headers, body } = await get('/statusz/pods.json', { method: 'HEAD' });
    const got = await get('/statusz/pods.json');
    expect(status).toBe(200);
    expect(body.byteLength).toBe(0);
    expect(headers['content-length']).toBe(String(got.body.byteLength));
    expect(headers.etag).toBe(got.headers.etag);
  });
});

describe('headers', () => {
  it.each<[string, Sent]>([
    ['/statusz/', {}],
    ['/statusz/main.js', {}],
    ['/statusz/pods.json', {}],
    ['/statusz/none', {}],
    ['/statusz', {}],
    ['/statusz/', { method: 'POST' }],
    ['/statusz/', { headers: { host: 'evil.example' } }],
  ])('%s %o: no inline code, no framing, no sniffing, nothing stored', async (path, sent) => {
    const { get } = await startNode();
    const { headers } = await get(path, sent);
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
      'cross-origin-resource-policy': 'same-origin',
    });
    const csp = String(headers['content-security-policy']);
    expect(csp).toContain("default-src 'none'");
    expect(csp).toContain("frame-ancestors 'none'");
    expect(csp).toContain("require-trusted-types-for 'script'");
    expect(csp).not.toMatch(/unsafe|\*|http/);
  });

  it('no page of another origin can read a response', async () => {
    const { get } = await startNode();
    const { headers } = await get('/statusz/pods.json', { headers: { origin: 'https://evil.example' } });
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  });
});

describe('Host on a loopback address, against DNS rebinding', () => {
  it.each(['localhost', 'localhost:8080', '127.0.0.1', '127.0.0.1:1', '[::1]:8080', 'LOCALHOST'])(
    '%s is served',
    async (host) => {
      const { get } = await startNode();
      expect((await get('/statusz/', { headers: { host } })).status).toBe(200);
    },
  );

  it.each([
    'evil.example',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'localhost@evil.example',
    '%',
    '10.0.0.1',
  ])('%s is refused', async (host) => {
    const { get } = await startNode();
    for (const path of ['/statusz/', '/statusz/pods.json'])
      expect((await get(path, { headers: { host } })).status).toBe(403);
  });

  it('an allowed name is served, and no other', async () => {
    const { get } = await startNode({ allowedHosts: ['Node-1.example'] });
    expect((await get('/statusz/', { headers: { host: 'node-1.example:9000' } })).status).toBe(200);
    expect((await get('/statusz/', { headers: { host: 'node-2.example' } })).status).toBe(403);
  });
});

describe('pods.json', () => {
  const state = async (node: DemoNode, name: string, pod: PodState, times = 1): Promise<void> => {
    const added = node.add(name);
    node.set(added, pod);
    for (let i = 1; i < times; i++) node.set(added, { ...pod, message: `change ${i}` });
    await node.settled();
  };

  it('has phase, readiness and versions of each pod', async () => {
    const { node, json } = await startNode();
    await state(node, 'a', { isReady: true }, 2);
    expect(await json('/statusz/pods.json')).toEqual({
      nodeName: 'worker-1',
      refreshIntervalMs: 1_000,
      state: 'running',
      lastSuccessfulRequestAt: '2026-11-22T11:58:00Z',
      pods: [
        {
          podUID: 'uid-a',
          podNamespace: 'default',
          podName: 'a',
          phase: 'Running',
          ready: 'True',
          readyContainers: 1,
          containers: 1,
          status: 'Running',
          restarts: 0,
          version: 2,
          sentVersion: 2,
          podIsFinished: false,
        },
      ],
      problems: [],
    });
  });

  it('has READY, STATUS and RESTARTS of kubectl: a sidecar counts, a crash loop is not Running', async () => {
    const { node, json } = await startNode();
    const sidecar = { name: 'proxy', restartPolicy: 'Always' };
    const running = { running: { startedAt: '2026-11-22T11:57:00Z' } };
    const added = node.add('a', { uid: 'uid-a' });
    const pod = { ...added, spec: { ...added.spec, initContainers: [sidecar], containers: [{ name: 'main' }] } };
    node.client.put(pod);
    node.podManager.updatePod(pod);
    node.manager.setPodStatus(pod, {
      phase: 'Running',
      initContainerStatuses: [{ name: 'proxy', ready: true, started: true, state: running, restartCount: 1 }],
      containerStatuses: [
        { name: 'main', ready: false, state: { waiting: { reason: 'CrashLoopBackOff' } }, restartCount: 4 },
      ],
    });
    const { pods } = await json<StatusDocument>('/statusz/pods.json');
    expect(pods[0]).toMatchObject({ readyContainers: 1, containers: 2, status: 'CrashLoopBackOff', restarts: 5 });
    expect(node.manager.explain('uid-a').sentence).toMatch(/^\S+\/a is CrashLoopBackOff \(phase Running\);/);
  });

  it('says of an evicted pod that it was evicted, not how its containers ended', async () => {
    const { node, json } = await startNode();
    await state(node, 'a', { phase: 'Failed', reason: 'Evicted' });
    await state(node, 'b', { phase: 'Failed' });
    const { pods } = await json<StatusDocument>('/statusz/pods.json');
    expect(pods.map(({ podName, status }) => [podName, status])).toEqual([
      ['a', 'Evicted'],
      ['b', 'ExitCode:1'],
    ]);
    for (const { podUID, status } of pods) expect(node.manager.explain(podUID).status).toBe(status);
  });

  it('has a failing request from the first one on', async () => {
    const { node, json } = await startNode();
    node.client.faults.next({ count: 100 }, fault.status(503, { message: 'no leader' }));
    await state(node, 'a', {});
    expect(await json('/statusz/pods.json')).toMatchObject({
      requestFailure: { since: '2026-11-22T11:58:00Z', verb: 'get', statusCode: 503, message: 'no leader' },
    });
  });

  it('has the unsent time of a pod, the reason it waits, the last error and the next retry', async () => {
    const { node, json } = await startNode();
    node.client.faults.next({ verb: 'patch' }, fault.status(403, { message: 'may not patch pods/status' }));
    await state(node, 'a', {});
    const { pods } = await json<StatusDocument>('/statusz/pods.json');
    expect(pods[0]).toMatchObject({
      unsentSince: '2026-11-22T11:58:00Z',
      waitingFor: { kind: 'back-off', class: 'Forbidden', verb: 'patch', statusCode: 403, tries: 1 },
      nextTryAt: expect.stringMatching(/^2026-11-22T11:58:\d\dZ$/),
      lastError: 'may not patch pods/status',
    });
  });

  it('lists a pod whose API object finalizers keep, without a status', async () => {
    const { node, json } = await startNode();
    const deletionTimestamp = '2026-11-22T11:58:00Z' as never;
    const pod = node.add('a', { finalizers: ['example.com/x'], deletionTimestamp });
    node.set(pod);
    node.manager.terminatePod(pod);
    await node.settled();
    const { pods } = await json<StatusDocument>('/statusz/pods.json');
    expect(pods).toEqual([
      {
        podUID: 'uid-a',
        podNamespace: 'default',
        podName: 'a',
        waitingFor: { kind: 'finalizers', finalizers: ['example.com/x'], since: '2026-11-22T11:58:00Z' },
      },
    ]);
  });

  it('has no ages, so it only changes with the pods; otherwise the response is 304', async () => {
    const { node, get } = await startNode();
    node.client.faults.next({ verb: 'patch' }, fault.hang());
    await state(node, 'a', {});
    const first = await get('/statusz/pods.json');
    const headers = { 'if-none-match': `W/"other", ${first.headers.etag}` };
    node.clock.advance(5_000);
    const second = await get('/statusz/pods.json', { headers });
    expect(second).toMatchObject({ status: 304, headers: { etag: first.headers.etag } });
    expect(second.body.byteLength).toBe(0);
    expect(Number(second.headers['statusz-time']) - Number(first.headers['statusz-time'])).toBe(5_000);

    await state(node, 'b', {});
    node.clock.advance(1_000);
    expect((await get('/statusz/pods.json', { headers })).status).toBe(200);
  });

  it('is rendered at most once in an interval for all clients, and never without a request', async () => {
    const { node, get } = await startNode({ refreshIntervalMs: 2_000 });
    const inspect = node.manager.inspect.bind(node.manager);
    let inspections = 0;
    node.manager.inspect = () => {
      inspections++;
      return inspect();
    };
    node.clock.advance(10_000);
    expect(inspections).toBe(0);
    for (let i = 0; i < 5; i++) await get('/statusz/pods.json');
    node.clock.advance(1_999);
    await get('/statusz/pods.json', { headers: { 'accept-encoding': 'gzip' } });
    expect(inspections).toBe(1);
    node.clock.advance(1);
    await get('/statusz/pods.json');
    expect(inspections).toBe(2);
  });

  it.each([
    ['gzip, deflate, br', 'gzip'],
    ['identity', undefined],
    ['gzip;q=0', undefined],
    ['', undefined],
  ])('accept-encoding "%s": %s', async (accepted, encoding) => {
    const { node, get, json } = await startNode();
    await state(node, 'a', {});
    const { headers, body } = await get('/statusz/pods.json', { headers: { 'accept-encoding': accepted } });
    expect(headers['content-encoding']).toBe(encoding);
    const text = encoding === 'gzip' ? gunzipSync(body) : body;
    expect(JSON.parse(text.toString())).toEqual(await json('/statusz/pods.json'));
  });

  it('of 2,000 pods is printed with its size and cost', async () => {
    const { node, get } = await startNode();
    await fillNode(node);
    const sizes = new Set<number>();
    const times: number[] = [];
    for (let i = 0; i < 10; i++) {
      node.clock.advance(1_000);
      const startedAt = performance.now();
      sizes.add((await get('/statusz/pods.json')).body.byteLength);
      times.push(performance.now() - startedAt);
    }
    const compressed = await get('/statusz/pods.json', { headers: { 'accept-encoding': 'gzip' } });
    const ms = times.sort((a, b) => a - b)[5]!;
    console.log(
      `pods.json of 2,000 pods: ${[...sizes].join()} bytes, gzip ${compressed.body.byteLength}, ${ms.toFixed(1)} ms`,
    );
    expect(Math.max(...sizes)).toBeLessThan(1_000_000);
  });
});

describe('pods/UID.json', () => {
  it('explains the pod', async () => {
    const { node, json } = await startNode();
    node.set(node.add('a'), { isReady: false });
    await node.settled();
    const { explanation } = await json<PodDocument>('/statusz/pods/uid-a.json');
    expect(explanation).toEqual(JSON.parse(JSON.stringify(node.manager.explain('uid-a'))));
    expect(explanation.sentence).toContain('Ready=False since 11:58:00Z');
  });

  it('has its row of the table, as new as the explanation', async () => {
    const { node, json } = await startNode();
    node.set(node.add('a'));
    await node.settled();
    const { pods } = await json<StatusDocument>('/statusz/pods.json');
    expect(await json<PodDocument>('/statusz/pods/uid-a.json')).toMatchObject({ pod: pods[0] });
    node.set(node.podManager.getPodByUID('uid-a')!, { isReady: false });
    const { explanation, pod } = await json<PodDocument>('/statusz/pods/uid-a.json');
    expect(pod).toMatchObject({ version: 2, ready: 'False' });
    expect(explanation.version).toBe(2);
  });

  it('has the conditions, and a timeline of conditions and writes, newest first', async () => {
    const { node, json } = await startNode({ timelineLength: 4 });
    const pod = node.add('a');
    node.set(pod, { isReady: false });
    await node.pass(60);
    node.set(pod);
    await node.settled();
    const { conditions, timeline } = await json<PodDocument>('/statusz/pods/uid-a.json');
    expect(conditions).toContainEqual(expect.objectContaining({ type: 'Ready', status: 'True' }));
    expect(timeline).toEqual([
      { at: '2026-11-22T11:59:00Z', kind: 'outcome', outcome: 'written', version: 2, times: 1 },
      { at: '2026-11-22T11:59:00Z', kind: 'condition', type: 'ContainersReady', from: 'False', to: 'True' },
      { at: '2026-11-22T11:59:00Z', kind: 'condition', type: 'Ready', from: 'False', to: 'True' },
      { at: '2026-11-22T11:58:00Z', kind: 'outcome', outcome: 'written', version: 1, times: 1 },
    ]);
  });

  it('a removed pod keeps its timeline for a while, and has no conditions', async () => {
    const { node, json } = await startNode();
    const pod = node.add('a', { deletionTimestamp: '2026-11-22T11:58:00Z' as never });
    node.set(pod);
    node.manager.terminatePod(pod);
    await node.settled();
    const document = await json<PodDocument>('/statusz/pods/uid-a.json');
    expect(document.conditions).toEqual([]);
    expect(document.timeline[0]).toMatchObject({ kind: 'outcome', outcome: 'deleted' });
  });

  it('a UID may contain anything', async () => {
    const { node, json } = await startNode();
    node.set(node.add('a', { uid: 'a/b?c d%' }));
    const path = `/statusz/pods/${encodeURIComponent('a/b?c d%')}.json`;
    expect(await json<PodDocument>(path)).toMatchObject({ explanation: { podUID: 'a/b?c d%' } });
  });

  it("shows nothing of a pod's spec: no environment variable, no command", async () => {
    const { node, get } = await startNode();
    const secret = 'hunter2-in-an-env-value';
    const pod = node.add('a');
    const spec = { containers: [{ name: 'app', env: [{ name: 'PASSWORD', value: secret }], command: [secret] }] };
    const changed = { ...pod, metadata: { ...pod.metadata, annotations: { token: secret } }, spec };
    node.podManager.updatePod(changed);
    node.set(changed);
    await node.settled();
    for (const path of ['/statusz/pods.json', '/statusz/pods/uid-a.json'])
      expect((await get(path)).body.toString()).not.toContain(secret);
  });
});

describe('a client that does not read', () => {
  /** With a document that is larger than what the sockets of both sides take. */
  async function startLargeNode() {
    const started = await startNode();
    const { node, server, url } = started;
    const message = 'x'.repeat(25_000);
    for (let i = 0; i < 1_000; i++) {
      node.client.faults.next({ verb: 'patch', name: `pod-${i}` }, fault.status(403, { message }));
      node.set(node.add(`pod-${i}`));
    }
    await node.settled();

    /** A client that asks for the document and reads nothing of it; resolves with the response on its way. */
    const stall = async () => {
      const response = new Promise<ServerResponse>((resolve) => {
        server.once('request', (_request, response: ServerResponse) => resolve(response));
      });
      const socket = connect(Number(new URL(url).port), '127.0.0.1');
      cleanUps.push(async () => void socket.destroy());
      socket.pause();
      socket.write('GET /statusz/pods.json HTTP/1.1\r\nHost: localhost\r\n\r\n');
      return { response: await response, socket };
    };
    return { ...started, stall };
  }

  const closed = (response: ServerResponse) => new Promise<void>((resolve) => response.once('close', resolve));

  it('is disconnected after 10 s', async () => {
    const { node, stall } = await startLargeNode();
    const { response } = await stall();
    const end = closed(response);
    node.clock.advance(9_999);
    expect(response.destroyed).toBe(false);
    node.clock.advance(1);
    await end;
    await node.manager.stop();
    expect(node.clock.pendingTimers).toBe(0);
  });

  it('occupies one of 32 response slots until it disconnects, and all share one document', async () => {
    const { get, stall } = await startLargeNode();
    const stalled = [];
    for (let i = 0; i < 32; i++) stalled.push(await stall());
    expect(await get('/statusz/')).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
    const end = closed(stalled[0]!.response);
    stalled[0]!.socket.destroy();
    await end;
    expect((await get('/statusz/')).status).toBe(200);
  });

  it('is disconnected by close()', async () => {
    const { node, stall } = await startLargeNode();
    const { response } = await stall();
    const end = closed(response);
    node.page.close();
    await end;
    await node.manager.stop();
    expect(node.clock.pendingTimers).toBe(0);
  });
});

describe('close()', () => {
  it('ends the subscription and drops the timelines; later requests get 503', async () => {
    const { node, get } = await startNode();
    const pod = node.add('a');
    node.set(pod);
    await node.settled();
    expect((await get('/statusz/pods/uid-a.json')).status).toBe(200);
    node.page.close();
    node.page.close();
    for (const path of ['/statusz/', '/statusz/pods.json', '/statusz/pods/uid-a.json'])
      expect((await get(path)).status).toBe(503);
  });

  it('a manager without a page has no listener: its updates copy no pod', async () => {
    const node = new DemoNode();
    const pod = node.add('a');
    let reads = 0;
    const labels = {
      get app() {
        reads++;
        return 'a';
      },
    };
    const watched = { ...pod, metadata: { ...pod.metadata, labels } };
    node.set(watched);
    const withPage = reads;
    node.page.close();
    node.set(watched, { isReady: false });
    expect(withPage).toBeGreaterThan(0);
    expect(reads).toBe(withPage);
  });
});

describe('errors', () => {
  it('responds 500 without details if the manager throws, and logs the reason', async () => {
    const { node, get } = await startNode();
    node.manager.inspect = () => {
      throw new Error('the pod manager of the caller broke');
    };
    const { status, body } = await get('/statusz/pods.json');
    expect([status, body.toString()]).toEqual([500, 'Failed to render the status page\n']);
    expect(node.logger.lines).toContainEqual({
      level: 'error',
      message: 'Failed to render the status page',
      fields: expect.objectContaining({ reason: 'the pod manager of the caller broke' }),
    });
  });

  const { manager } = new DemoNode();
  it.each<[string, unknown, unknown, string]>([
    ['no manager', undefined, {}, 'manager'],
    ['another object', { inspect: () => ({}) }, {}, 'manager'],
    ['options that are not an object', manager, null, 'options'],
    ['an unknown option', manager, { basePath: '/x' }, 'basePath'],
    ['a path with a slash at its end', manager, { path: '/statusz/' }, 'path'],
    ['a path without a slash', manager, { path: 'statusz' }, 'path'],
    ['an interval that is too short', manager, { refreshIntervalMs: 10 }, 'refreshIntervalMs'],
    ['an empty timeline', manager, { timelineLength: 0 }, 'timelineLength'],
    ['hosts that are not a list', manager, { allowedHosts: 'a' }, 'allowedHosts'],
    ['a host with a port', manager, { allowedHosts: ['a', 'b:80'] }, 'allowedHosts[1]'],
    ['a node name that is not a string', manager, { nodeName: 7 }, 'nodeName'],
  ])('%s', (_case, someManager, options, path) => {
    expect(() => createStatusPage(someManager as never, options as never)).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', path }),
    );
  });
});
