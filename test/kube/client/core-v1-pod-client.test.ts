import type { CoreV1Api, KubeConfig } from '@kubernetes/client-node';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { APIError } from '../../../src/kube/client/api-error.ts';
import { createCoreV1PodClient } from '../../../src/kube/client/core-v1-pod-client.ts';
import type { PodClient, PodStatusPatch } from '../../../src/kube/client/pod-client.ts';
import { createInformerPodManager } from '../../../src/kube/informer/index.ts';
import type { KubeConfigSource } from '../../../src/kube/http/index.ts';
import { StatusManager } from '../../../src/status-manager/status-manager.ts';
import { FakeClock } from '../../../src/testing/fake-clock.ts';
import { clientNodeMajor, loadClientNode } from '../../support/client-node.ts';
import { startHTTPServer } from '../../support/http-server.ts';
import type { HTTPServer } from '../../support/http-server.ts';

const clientNode = await loadClientNode();
const ref = { namespace: 'default', name: 'a' };
const { signal } = new AbortController();
const pod = {
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: { name: 'a', namespace: 'default', uid: 'u1', creationTimestamp: '2026-01-02T03:04:05Z', newField: 1 },
  spec: { containers: [] },
  status: {
    phase: 'Running',
    startTime: '2026-01-02T03:04:05Z',
    volumeHealth: [{ name: 'v' }],
    unknown: { a: [null] },
  },
};
const strategicPatch: PodStatusPatch = {
  type: 'application/strategic-merge-patch+json',
  body: { metadata: { uid: 'u1' }, status: { phase: 'Failed', reason: null } },
};

/** Base64 of `-`. */
const trustsNobody = 'LQ==';

function loadKubeConfig(kubeConfig: KubeConfig, server: HTTPServer, caData = server.caData): void {
  const tls = caData === '' ? { skipTLSVerify: true } : { caData, skipTLSVerify: false };
  kubeConfig.loadFromOptions({
    clusters: [{ name: 'c', server: server.url, ...tls }],
    users: [{ name: 'u', token: 't0ken' }],
    contexts: [{ name: 'x', cluster: 'c', user: 'u' }],
    currentContext: 'x',
  });
}

function makeAPI(server: HTTPServer): CoreV1Api {
  const kubeConfig = new clientNode.KubeConfig();
  loadKubeConfig(kubeConfig, server);
  return kubeConfig.makeApiClient(clientNode.CoreV1Api);
}

interface Configuration {
  httpApi: { send(context: unknown): unknown };
}

const configurationOf = (api: CoreV1Api): Configuration =>
  (api as unknown as { api: { configuration: Configuration } }).api.configuration;

const subclassOf = (api: CoreV1Api): object =>
  Object.assign(Object.create(Object.getPrototypeOf(api) as object) as object, { readNamespacedPod: async () => pod });

async function rejection(promise: Promise<unknown>): Promise<APIError> {
  const error: unknown = await promise.then(
    (value) => expect.fail(`resolved with ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );
  expect(error).toBeInstanceOf(APIError);
  return error as APIError;
}

describe(`over CoreV1Api of client-node ${clientNodeMajor}`, () => {
  it("reads the server's own JSON: unknown fields, times as strings", async () => {
    await using server = await startHTTPServer();
    server.respondWith({ body: pod });
    const client = createCoreV1PodClient(makeAPI(server));
    expect(await client.getPod(ref, { signal })).toEqual(pod);
    expect(server.requests).toMatchObject([{ method: 'GET', url: '/api/v1/namespaces/default/pods/a', body: '' }]);
    expect(server.requests[0]?.headers.authorization).toBe('Bearer t0ken');
    await client.close();
  });

  it.each<PodStatusPatch>([
    strategicPatch,
    { type: 'application/json-patch+json', body: [{ op: 'test', path: '/metadata/uid', value: 'u1' }] },
  ])('patches pods/status as $type', async (patch) => {
    await using server = await startHTTPServer();
    server.respondWith({ body: pod });
    const client = createCoreV1PodClient(makeAPI(server));
    expect(await client.patchPodStatus(ref, patch, { signal })).toEqual(pod);
    expect(server.requests).toMatchObject([{ method: 'PATCH', url: '/api/v1/namespaces/default/pods/a/status' }]);
    expect(server.requests[0]?.headers['content-type']).toBe(patch.type);
    expect(JSON.parse(server.requests[0]?.body ?? '')).toEqual(patch.body);
    await client.close();
  });

  it.each([{ body: pod }, { body: { kind: 'Status', status: 'Success' } }, { status: 202, body: pod }])(
    'deletes with a UID precondition and the grace period: %j',
    async (returned) => {
      await using server = await startHTTPServer();
      server.respondWith(returned);
      const client = createCoreV1PodClient(makeAPI(server));
      await client.deletePod(ref, { uid: 'u1', gracePeriodSeconds: 0 }, { signal });
      expect(server.requests).toMatchObject([{ method: 'DELETE', url: '/api/v1/namespaces/default/pods/a' }]);
      expect(JSON.parse(server.requests[0]?.body ?? '')).toMatchObject({
        gracePeriodSeconds: 0,
        preconditions: { uid: 'u1' },
      });
      await client.close();
    },
  );

  it('a deeply nested response is refused before client-node parses it', async () => {
    await using server = await startHTTPServer();
    server.respondWith({ body: '['.repeat(200_000) });
    const client = createCoreV1PodClient(makeAPI(server));
    expect(await rejection(client.getPod(ref, { signal }))).toMatchObject({
      kind: 'invalid-response',
      message: 'the response (200) is nested deeper than 1000 levels',
    });
    await client.close();
  });

  it('the error of a refused connection names host and port', async () => {
    const server = await startHTTPServer();
    const { host } = new URL(server.url);
    const client = createCoreV1PodClient(makeAPI(server));
    await server[Symbol.asyncDispose]();
    const { kind, message } = await rejection(client.getPod(ref, { signal }));
    expect(kind).toBe('network');
    expect(message).toMatch(new RegExp(`^request to ${host} failed: .*ECONNREFUSED$`));
    await client.close();
  });

  it('the request goes out through the HTTP client of this package, under the field manager of client-node', async () => {
    await using server = await startHTTPServer();
    server.respondWith({ body: pod });
    const api = makeAPI(server);
    const { httpApi } = configurationOf(api);
    const send = vi.spyOn(Object.getPrototypeOf(httpApi) as typeof httpApi, 'send');
    const client = createCoreV1PodClient(api);
    expect(await client.patchPodStatus(ref, strategicPatch, { signal })).toEqual(pod);
    expect(send).not.toHaveBeenCalled();
    send.mockRestore();
    // The API server makes the field manager of it, which must not change.
    expect(server.requests[0]?.headers['user-agent']).toMatch(
      clientNodeMajor === '2' ? /^kubernetes-client-javascript\// : /^node-fetch\//,
    );
    await client.close();
  });

  it.each<[string, (api: CoreV1Api) => CoreV1Api]>([
    [
      'a spy, also one that comes later',
      (api) => (vi.spyOn(api, 'readNamespacedPod').mockResolvedValue(pod as never), api),
    ],
    [
      'a spy of the class',
      (api) => {
        const spy = vi
          .spyOn(Object.getPrototypeOf(api) as CoreV1Api, 'readNamespacedPod')
          .mockResolvedValue(pod as never);
        onTestFinished(() => spy.mockRestore());
        return api;
      },
    ],
    ['a method of its own', (api) => Object.assign(api, { readNamespacedPod: async () => pod })],
    ['a subclass', (api) => Object.setPrototypeOf(api, subclassOf(api)) as CoreV1Api],
  ])('%s is called, and nothing is sent', async (_, change) => {
    await using server = await startHTTPServer();
    const api = makeAPI(server);
    const client = createCoreV1PodClient(api);
    change(api);
    expect(await client.getPod(ref, { signal })).toBe(pod);
    expect(server.requests).toEqual([]);
  });

  it('an API of another server than that of its KubeConfig keeps it', async () => {
    await using server = await startHTTPServer();
    await using other = await startHTTPServer();
    server.respondWith({ body: pod });
    const kubeConfig = new clientNode.KubeConfig();
    loadKubeConfig(kubeConfig, server);
    const api = kubeConfig.makeApiClient(clientNode.CoreV1Api);
    loadKubeConfig(kubeConfig, other);
    const client = createCoreV1PodClient(api);
    expect(await client.getPod(ref, { signal })).toEqual(pod);
    expect(other.requests).toEqual([]);
  });

  it('sends through an HTTP library of the caller, with middleware of the caller, which sees the response', async () => {
    await using server = await startHTTPServer();
    server.respondWith({ body: pod });
    const api = makeAPI(server);
    const configuration = configurationOf(api);
    const { httpApi } = configuration;
    const seen: unknown[] = [];
    const of = <T>(value: T) => ({ toPromise: () => Promise.resolve(value) });
    Object.assign(configuration, {
      httpApi: {
        send(context: unknown) {
          seen.push('send');
          return httpApi.send(context);
        },
      },
      middleware: [
        {
          pre: of,
          post: (context: { body: { text(): Promise<string> } }) => ({
            async toPromise() {
              seen.push(JSON.parse(await context.body.text()));
              return context;
            },
          }),
        },
      ],
    });
    const client = createCoreV1PodClient(api);
    expect(await client.getPod(ref, { signal })).toEqual(pod);
    expect(seen).toEqual(['send', pod]);
    await client.close();
  });

  it('redacts the token in an error that quotes it', async () => {
    await using server = await startHTTPServer();
    server.respondWith({ status: 400, body: { kind: 'Status', reason: 'Bad', message: 'no: Bearer t0ken' } });
    const client = createCoreV1PodClient(makeAPI(server));
    const { message } = await rejection(client.getPod(ref, { signal }));
    expect(message).toBe('400 Bad: no: Bearer [redacted]');
    await client.close();
  });

  it('reports Status, status code and Retry-After of a failure', async () => {
    await using server = await startHTTPServer();
    const body = {
      kind: 'Status',
      message: 'no',
      reason: 'Invalid',
      details: { causes: [{ reason: 'FieldValueInvalid', message: 'm', field: 'metadata.uid' }] },
      code: 422,
    };
    server.respondWith({ status: 422, body, headers: { 'retry-after': 'Fri, 02 Jan 2026 03:04:15 GMT' } });
    const clock = new FakeClock('2026-01-02T03:04:05Z');
    const client = createCoreV1PodClient(makeAPI(server), { clock });
    expect(await rejection(client.patchPodStatus(ref, strategicPatch, { signal }))).toMatchObject({
      kind: 'http',
      statusCode: 422,
      reason: 'Invalid',
      message: '422 Invalid: no',
      causes: body.details.causes,
      retryAfterMs: 10_000,
    });
    await client.close();
  });

  it.each([
    [
      'HTML',
      { body: '<html>please log in</html>', headers: { 'content-type': 'text/html' } },
      'the response (200) is not JSON',
    ],
    [
      'HTML that claims to be JSON',
      { body: '<html>', headers: { 'content-type': 'application/json' } },
      'the response (200) is not JSON',
    ],
    ['an empty object', { body: {} }, 'the response is not a pod'],
    ['a Status', { body: { kind: 'Status', metadata: {}, status: 'Success' } }, 'the response is not a pod'],
    ['null', { body: 'null', headers: { 'content-type': 'application/json' } }, 'the response is not a pod'],
    ['nothing', { body: '' }, 'the response (200) is not JSON'],
  ])('calls a 200 with %s an invalid response', async (_, returned, message) => {
    await using server = await startHTTPServer();
    server.respondWith(returned);
    const client = createCoreV1PodClient(makeAPI(server));
    expect(await rejection(client.getPod(ref, { signal }))).toMatchObject({ kind: 'invalid-response', message });
    await client.close();
  });

  it('accepts a pod with a content type that the generated code does not support', async () => {
    await using server = await startHTTPServer();
    server.respondWith({ body: pod, headers: { 'content-type': 'application/octet-stream' } });
    const client = createCoreV1PodClient(makeAPI(server));
    expect(await client.getPod(ref, { signal })).toEqual(pod);
    await client.close();
  });

  it.each(['reset', 'cut-body'] as const)('calls a connection that is cut a network failure: %s', async (fault) => {
    await using server = await startHTTPServer();
    server.respondWith({ body: pod, fault });
    const client = createCoreV1PodClient(makeAPI(server));
    expect(await rejection(client.getPod(ref, { signal }))).toMatchObject({ kind: 'network', statusCode: undefined });
    await client.close();
  });

  it('calls a refused connection a network failure', async () => {
    const server = await startHTTPServer();
    await server[Symbol.asyncDispose]();
    const client = createCoreV1PodClient(makeAPI(server));
    expect((await rejection(client.getPod(ref, { signal }))).kind).toBe('network');
  });

  it.each([
    ['timeout', new DOMException('too late', 'TimeoutError')],
    ['aborted', new Error('stopped')],
  ])('aborts a hung request and reports the reason: %s', async (kind, reason) => {
    await using server = await startHTTPServer();
    server.respondWith({ fault: 'hang' });
    const client = createCoreV1PodClient(makeAPI(server));
    const controller = new AbortController();
    const outcome = rejection(client.getPod(ref, { signal: controller.signal }));
    await server.received(1);
    controller.abort(reason);
    expect((await outcome).kind).toBe(kind);
    await client.close();
  });

  it("runs the caller's own middleware, too, with the body still unread", async () => {
    await using server = await startHTTPServer();
    server.respondWith({ body: pod });
    const seen: string[] = [];
    const configuration = clientNode.createConfiguration({
      baseServer: new clientNode.ServerConfiguration(server.url, {}),
      promiseMiddleware: [
        {
          pre: async (context) => {
            context.setHeaderParam('x-own', 'yes');
            return context;
          },
          post: async (context) => {
            seen.push(await context.body.text(), (await context.body.binary()).toString());
            return context;
          },
        },
      ],
    });
    const client = createCoreV1PodClient(new clientNode.CoreV1Api(configuration));
    expect(await client.getPod(ref, { signal })).toEqual(pod);
    expect(server.requests[0]?.headers['x-own']).toBe('yes');
    expect(seen).toEqual([JSON.stringify(pod), JSON.stringify(pod)]);
    await client.close();
  });
});

describe(`connections, client-node ${clientNodeMajor}`, () => {
  const connectionsOf = (server: HTTPServer): ReadonlySet<number> =>
    new Set(server.requests.map((request) => request.connection));

  async function getPods(client: PodClient, times: number): Promise<void> {
    for (let i = 0; i < times; i++) await client.getPod(ref, { signal });
  }

  // 2.x's undici opens a second one when a request comes before it has put the first one back.
  const fewConnections = 2;

  it.each([false, true])('are shared by requests one after another, TLS: %s', async (tls) => {
    await using server = await startHTTPServer({ tls });
    server.respondWith(...Array.from({ length: 10 }, () => ({ body: pod })));
    const client = createCoreV1PodClient(makeAPI(server));
    await getPods(client, 10);
    expect(connectionsOf(server).size).toBeLessThanOrEqual(fewConnections);
    await client.close();
  });

  it('stay open after a failure that the server reported', async () => {
    await using server = await startHTTPServer({ tls: true });
    server.respondWith(...Array.from({ length: 10 }, () => ({ status: 404 })));
    const client = createCoreV1PodClient(makeAPI(server));
    for (let i = 0; i < 10; i++) await rejection(client.getPod(ref, { signal }));
    expect(connectionsOf(server).size).toBeLessThanOrEqual(fewConnections);
    await client.close();
  });

  it('of requests in flight survive the failure of another request, and close() after them', async () => {
    await using server = await startHTTPServer({ tls: true });
    let release: () => void = () => {};
    const after = new Promise<void>((resolve) => (release = resolve));
    server.respondWith({ body: pod }, { body: pod, after }, { status: 401 });
    const client = createCoreV1PodClient(makeAPI(server));
    await getPods(client, 1);
    const slow = client.getPod(ref, { signal });
    await server.received(2);
    await rejection(client.getPod(ref, { signal }));
    release();
    expect(await slow).toEqual(pod);
    await client.close();
    await server.disconnected();
  });

  it('are closed by close(), and opened again by the next request', async () => {
    await using server = await startHTTPServer({ tls: true });
    server.respondWith({ body: pod }, { body: pod });
    const client = createCoreV1PodClient(makeAPI(server));
    await getPods(client, 1);
    await client.close();
    await server.disconnected();
    await client.close();
    await getPods(client, 1);
    expect(connectionsOf(server).size).toBe(2);
    await client.close();
  });

  it('of a client that the manager created itself are closed by its stop()', async () => {
    await using server = await startHTTPServer({ tls: true });
    server.respondWith({ body: pod }, { body: pod });
    const manager = new StatusManager({ client: makeAPI(server), podCouldHaveRunningContainers: () => true });
    manager.setPodStatus(pod, { phase: 'Failed' });
    await manager.syncBatch(false);
    expect(connectionsOf(server).size).toBe(1);
    await manager.stop();
    await server.disconnected();
  });

  it.each<[string, (kubeConfig: KubeConfig) => KubeConfigSource]>([
    ['a KubeConfig', (kubeConfig) => kubeConfig],
    ['a kubeconfig object', (kubeConfig) => JSON.parse(kubeConfig.exportConfig()) as KubeConfigSource],
  ])('of a manager with %s are closed by its stop()', async (_, clientOf) => {
    await using server = await startHTTPServer();
    server.respondWith({ body: pod }, { body: pod });
    const kubeConfig = new clientNode.KubeConfig();
    loadKubeConfig(kubeConfig, server);
    const manager = new StatusManager({ client: clientOf(kubeConfig), podCouldHaveRunningContainers: () => true });
    manager.setPodStatus(pod, { phase: 'Pending' });
    expect(await manager.syncBatch(false)).toMatchObject({ written: 1 });
    expect(server.requests.map(({ method, headers }) => `${method} ${headers.authorization}`)).toEqual([
      'GET Bearer t0ken',
      'PATCH Bearer t0ken',
    ]);
    await manager.stop();
    await server.disconnected();
  });

  it('of an informer with a KubeConfig are closed by its stop()', async () => {
    await using server = await startHTTPServer();
    server.respondWith(
      { body: { kind: 'PodList', metadata: { resourceVersion: '1' }, items: [pod] } },
      { fault: 'hang' },
    );
    const kubeConfig = new clientNode.KubeConfig();
    loadKubeConfig(kubeConfig, server);
    const pods = createInformerPodManager({ client: kubeConfig, nodeName: 'node-a' });
    pods.start();
    await pods.whenSynced();
    expect(pods.getPods()).toEqual([pod]);
    await pods.stop();
    await server.disconnected();
  });

  it('are not shared by two clients', async () => {
    await using server = await startHTTPServer({ tls: true });
    server.respondWith({ body: pod }, { body: pod });
    const api = makeAPI(server);
    const clients = [createCoreV1PodClient(api), createCoreV1PodClient(api)];
    for (const client of clients) await getPods(client, 1);
    expect(connectionsOf(server).size).toBe(2);
    for (const client of clients) await client.close();
  });

  it('verify the certificate, and use the current KubeConfig after a failed verification', async () => {
    await using server = await startHTTPServer({ tls: true });
    const kubeConfig = new clientNode.KubeConfig();
    loadKubeConfig(kubeConfig, server, trustsNobody);
    const client = createCoreV1PodClient(kubeConfig.makeApiClient(clientNode.CoreV1Api));
    expect((await rejection(client.getPod(ref, { signal }))).kind).toBe('network');
    expect(server.requests).toEqual([]);
    loadKubeConfig(kubeConfig, server);
    server.respondWith({ body: pod });
    await getPods(client, 1);
    await client.close();
  });
});

describe('over a mock', () => {
  type Method = (request: object, options?: object) => Promise<unknown>;
  const mockAPI = (returned?: unknown) => ({
    readNamespacedPod: vi.fn<Method>(async () => returned),
    patchNamespacedPodStatus: vi.fn<Method>(async () => returned),
    deleteNamespacedPod: vi.fn<Method>(async () => returned),
  });

  it('passes exactly the documented first arguments and takes the return value', async () => {
    const returned = { metadata: { uid: 'u1' } };
    const api = mockAPI(returned);
    const client = createCoreV1PodClient(api);
    expect(await client.getPod(ref, { signal })).toBe(returned);
    expect(await client.patchPodStatus(ref, strategicPatch, { signal })).toBe(returned);
    await client.deletePod(ref, { uid: 'u1', gracePeriodSeconds: 0 }, { signal });
    const firstArguments = Object.values(api).map((method) => method.mock.calls[0]?.[0]);
    expect(firstArguments).toEqual([
      { name: 'a', namespace: 'default' },
      { name: 'a', namespace: 'default', body: strategicPatch.body },
      { name: 'a', namespace: 'default', body: { gracePeriodSeconds: 0, preconditions: { uid: 'u1' } } },
    ]);
  });

  it.each([[undefined], [null], [{}], ['pod'], [[]]])(
    'that returns %j fails with the name of the method',
    async (returned) => {
      const client = createCoreV1PodClient(mockAPI(returned));
      const outcomes = {
        readNamespacedPod: client.getPod(ref, { signal }),
        patchNamespacedPodStatus: client.patchPodStatus(ref, strategicPatch, { signal }),
        deleteNamespacedPod: client.deletePod(ref, { uid: 'u1', gracePeriodSeconds: 0 }, { signal }),
      };
      for (const [method, outcome] of Object.entries(outcomes)) {
        const error = await rejection(outcome);
        expect(error.kind).toBe('invalid-response');
        expect(error.message).toContain(method);
      }
    },
  );

  it.each([
    [
      'throws',
      () => {
        throw Object.assign(new Error('x'), { code: 404 });
      },
    ],
    ['rejects', () => Promise.reject({ statusCode: 404 })],
  ])('that %s comes out as an APIError', async (_, readNamespacedPod) => {
    const client = createCoreV1PodClient({ ...mockAPI(), readNamespacedPod });
    expect(await rejection(client.getPod(ref, { signal }))).toMatchObject({ statusCode: 404 });
  });

  it('is not called when the signal is aborted beforehand', async () => {
    const api = mockAPI({ metadata: {} });
    const outcome = createCoreV1PodClient(api).getPod(ref, { signal: AbortSignal.abort() });
    expect((await rejection(outcome)).kind).toBe('aborted');
    expect(api.readNamespacedPod).not.toHaveBeenCalled();
  });

  it('that never responds is abandoned at the abort, and its late failure has no effect', async () => {
    let fail: (reason: Error) => void = () => {};
    const never = new Promise((_, reject) => (fail = reject));
    const client = createCoreV1PodClient({ ...mockAPI(), readNamespacedPod: () => never });
    const controller = new AbortController();
    const outcome = rejection(client.getPod(ref, { signal: controller.signal }));
    controller.abort();
    expect((await outcome).kind).toBe('aborted');
    fail(new Error('late'));
  });
});
