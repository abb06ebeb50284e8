import { describe, expect, it, onTestFinished } from 'vitest';
import { APIObjects } from '../../../src/node/container-options/api-objects.ts';
import { APIError } from '../../../src/kube/client/api-error.ts';
import { FakeClock } from '../../../src/testing/fake-clock.ts';
import { settle } from '../../../src/testing/settle.ts';
import { objectTransport } from '../../support/object-transport.ts';
import { podScope } from '../../support/pod-scope.ts';
import type { APIRequests } from '../../../src/kube/client/api-requests.ts';

const mapPath = '/api/v1/namespaces/ns/configmaps/map';
const tokenPath = '/api/v1/namespaces/ns/serviceaccounts/robot/token';
const pod = { metadata: { name: 'pod', namespace: 'ns', uid: '1' }, spec: { serviceAccountName: 'robot' } };
const scope = podScope(pod);
const away = new APIError('connection refused', { kind: 'network' });
const { signal: never } = new AbortController();

function start(objects: Record<string, unknown>) {
  const clock = new FakeClock();
  const server = objectTransport(objects);
  return { clock, server, objects: new APIObjects(server.transport, clock, never) };
}

describe('APIObjects', () => {
  it('reads an object again after a second', async () => {
    const { clock, server, objects } = start({ [mapPath]: { data: { a: '1' } } });
    await Promise.all([objects.getConfigMap('ns', 'map'), objects.getConfigMap('ns', 'map')]);
    expect(server.requests).toEqual([`GET ${mapPath}`]);
    server.set(mapPath, { data: { a: '2' } });
    await clock.advance(1000);
    expect(await objects.getConfigMap('ns', 'map')).toEqual({ data: { a: '2' } });
  });

  it('reads the objects of many pods at once without a warning of Node.js', async () => {
    const warnings: Error[] = [];
    const listener = (warning: Error): void => void warnings.push(warning);
    process.on('warning', listener);
    onTestFinished(() => void process.off('warning', listener));
    const { objects } = start({});
    await Promise.all(Array.from({ length: 20 }, (_, i) => objects.getConfigMap('ns', `map-${i}`)));
    await settle();
    expect(warnings).toEqual([]);
  });

  it('has the last version while the API server does not respond', async () => {
    const { clock, server, objects } = start({ [mapPath]: { data: { a: '1' } } });
    await objects.getConfigMap('ns', 'map');
    server.set(mapPath, away);
    await clock.advance(1000);
    expect(await objects.getConfigMap('ns', 'map')).toEqual({ data: { a: '1' } });
    await expect(objects.getConfigMap('ns', 'other')).resolves.toBeUndefined();
  });

  it('has the last version for all that read it while requests fail late', async () => {
    const { clock, server, objects } = start({ [mapPath]: { data: { a: '1' } } });
    await objects.getConfigMap('ns', 'map');
    await clock.advance(1000);
    let fail = (): void => {};
    server.set(mapPath, new Promise((_, reject) => (fail = () => reject(away))));
    const reads = [objects.getConfigMap('ns', 'map'), objects.getConfigMap('ns', 'map')];
    await clock.advance(1000);
    reads.push(objects.getConfigMap('ns', 'map'));
    fail();
    for (const read of reads) expect(await read).toEqual({ data: { a: '1' } });
    await clock.advance(1000);
    server.set(mapPath, away);
    expect(await objects.getConfigMap('ns', 'map')).toEqual({ data: { a: '1' } });
  });

  it('rejects when an object could not be read even once', async () => {
    const { objects } = start({ [mapPath]: away });
    await expect(objects.getConfigMap('ns', 'map')).rejects.toBe(away);
  });

  it('reads no object again within a second', async () => {
    const secretPath = '/api/v1/namespaces/ns/secrets/keys';
    const { clock, server, objects } = start({ [secretPath]: { data: { a: 'MQ==' } } });
    await objects.getSecret('ns', 'keys');
    server.set(secretPath, { data: { a: 'Mg==' } });
    await clock.advance(999);
    expect(await objects.getSecret('ns', 'keys')).toEqual({ data: { a: 'MQ==' } });
    expect(server.requests).toEqual([`GET ${secretPath}`]);
  });

  it('has no version of an object that has been deleted', async () => {
    const { clock, server, objects } = start({ [mapPath]: { data: {} } });
    await objects.getConfigMap('ns', 'map');
    server.set(mapPath, undefined);
    await clock.advance(1000);
    expect(await objects.getConfigMap('ns', 'map')).toBeUndefined();
  });

  it('gives a pod no object that it may no longer read', async () => {
    const { clock, server, objects } = start({ [mapPath]: { data: { a: '1' } } });
    await objects.getConfigMap('ns', 'map');
    const forbidden = new APIError('forbidden', { kind: 'http', statusCode: 403 });
    server.set(mapPath, forbidden);
    await clock.advance(1000);
    for (let i = 0; i < 2; i += 1) await expect(objects.getConfigMap('ns', 'map')).rejects.toBe(forbidden);
  });

  it('asks the API server again at once after a failure without an earlier version', async () => {
    const { server, objects } = start({ [mapPath]: away });
    await expect(objects.getConfigMap('ns', 'map')).rejects.toBe(away);
    server.set(mapPath, { data: { a: '1' } });
    expect(await objects.getConfigMap('ns', 'map')).toEqual({ data: { a: '1' } });
  });

  it('asks the API server again a second after a failure, not at once', async () => {
    const { clock, server, objects } = start({ [mapPath]: { data: { a: '1' } } });
    await objects.getConfigMap('ns', 'map');
    await clock.advance(1000);
    server.set(mapPath, away);
    for (let i = 0; i < 3; i += 1) await objects.getConfigMap('ns', 'map');
    expect(server.requests).toHaveLength(2);
    server.set(mapPath, { data: { a: '2' } });
    await clock.advance(1000);
    expect(await objects.getConfigMap('ns', 'map')).toEqual({ data: { a: '2' } });
  });

  it('remembers a thousand objects: those that were used last', async () => {
    const paths = Array.from({ length: 1001 }, (_, i) => `/api/v1/namespaces/ns/configmaps/map-${i}`);
    const { clock, server, objects } = start(Object.fromEntries(paths.map((path) => [path, { data: { path } }])));
    const read = (i: number) => objects.getConfigMap('ns', `map-${i}`);
    for (let i = 0; i < 1000; i += 1) await read(i);
    await clock.advance(1000);
    await read(0);
    await read(1000);
    for (const path of paths) server.set(path, away);
    await clock.advance(1000);
    for (const i of [0, 2, 999, 1000]) expect(await read(i)).toEqual({ data: { path: paths[i] } });
    await expect(read(1)).rejects.toBe(away);
  });

  it.each(['', '..', 'a/b', '../secrets/other'])(
    'asks for no other object than the one that %j names',
    async (name) => {
      const { server, objects } = start({});
      await expect(objects.getConfigMap('ns', name)).rejects.toThrow('Expected `name` to be a name');
      await expect(objects.getConfigMap(name, 'map')).rejects.toThrow('Expected `namespace` to be a name');
      await expect(objects.lookupRuntimeHandler(name)).rejects.toThrow('Expected `runtimeClassName` to be a name');
      expect(server.requests).toEqual([]);
    },
  );

  it('gives a request 10 seconds', async () => {
    const clock = new FakeClock();
    const objects = new APIObjects(
      {
        request: (_method, _path, options) =>
          new Promise((_, reject) => options?.signal?.addEventListener('abort', () => reject(away))),
      },
      clock,
      never,
    );
    const failures: unknown[] = [];
    const read = objects.getConfigMap('ns', 'map').catch((error: unknown) => failures.push(error));
    await clock.advanceAsync(9999);
    expect(failures).toEqual([]);
    clock.advance(1);
    await read;
    expect(failures).toMatchObject([{ message: `GET ${mapPath} took over 10000 ms` }]);
    expect(clock.pendingTimers).toBe(0);
  });

  it('leaves no request and no timer when its owner stops, even if the transport does not react', async () => {
    const clock = new FakeClock();
    const stop = new AbortController();
    const objects = new APIObjects({ request: () => new Promise(() => {}) }, clock, stop.signal);
    const results = Promise.allSettled([
      objects.getConfigMap('ns', 'map'),
      objects.getServiceAccountToken(pod, {}, podScope(pod)),
    ]);
    stop.abort(new Error('stopped'));
    expect(await results).toMatchObject([
      { status: 'rejected', reason: { message: 'stopped' } },
      { status: 'rejected', reason: { message: 'failed to fetch token: stopped' } },
    ]);
    expect(clock.pendingTimers).toBe(0);
  });

  it('says which RuntimeClass is missing', async () => {
    const { objects } = start({ '/apis/node.k8s.io/v1/runtimeclasses/gvisor': { handler: 'runsc' } });
    expect(await objects.lookupRuntimeHandler('gvisor')).toBe('runsc');
    await expect(objects.lookupRuntimeHandler('none')).rejects.toThrow(
      new Error('failed to get RuntimeClass none: runtimeclass.node.k8s.io "none" not found'),
    );
  });

  it('TestLookupRuntimeHandler: a RuntimeClass without a handler has the default one', async () => {
    const { objects } = start({ '/apis/node.k8s.io/v1/runtimeclasses/plain': {} });
    expect(await objects.lookupRuntimeHandler('plain')).toBe('');
  });

  it('requests a token again after 80 % of its time, and keeps it until its end when that fails', async () => {
    const { clock, server, objects } = start({});
    const issue = (token: string) => server.set(tokenPath, { status: { token } });
    const get = () => objects.getServiceAccountToken(pod, { expirationSeconds: 1000 }, scope);
    issue('first');
    expect(await get()).toBe('first');
    await clock.advance(799_000);
    expect(await get()).toBe('first');
    await clock.advance(2000);
    issue('second');
    expect(await get()).toBe('second');
    server.set(tokenPath, away);
    await clock.advance(900_000);
    expect(await get()).toBe('second');
    await clock.advance(200_000);
    await expect(get()).rejects.toThrow('failed to fetch token: connection refused');
  });

  it('requests a token again after 80 % of the time that the API server has granted', async () => {
    const { clock, server, objects } = start({
      [tokenPath]: { spec: { expirationSeconds: 600 }, status: { token: 'first' } },
    });
    const get = () => objects.getServiceAccountToken(pod, { expirationSeconds: 1000 }, scope);
    expect(await get()).toBe('first');
    server.set(tokenPath, { status: { token: 'second' } });
    await clock.advance(479_000);
    expect(await get()).toBe('first');
    await clock.advance(1000);
    expect(await get()).toBe('second');
  });

  it.each([
    ['back by a day', -86_400_000, 'first'],
    ['back by an hour', -3_600_000, 'first'],
    // The machine may have slept.
    ['forward by an hour', 3_600_000, 'second'],
  ])('a wall clock that is set %s does not delay the next token', async (_, ms, soon) => {
    const { clock, server, objects } = start({ [tokenPath]: { status: { token: 'first' } } });
    const get = () => objects.getServiceAccountToken(pod, { expirationSeconds: 1000 }, scope);
    expect(await get()).toBe('first');
    server.set(tokenPath, { status: { token: 'second' } });
    clock.setWallTime(clock.now() + ms);
    expect(await get()).toBe(soon);
    clock.advance(800_000);
    expect(await get()).toBe('second');
  });
});

describe('a token', () => {
  /** An API server that issues the tokens 1, 2, …. */
  function issuer() {
    const requests: { readonly path: string; readonly body: unknown }[] = [];
    const clock = new FakeClock();
    const objects = new APIObjects(
      {
        request: async (method, path, { body } = {}) => {
          requests.push({ path: `${method} ${path}`, body });
          const token = String(requests.length);
          return { json: () => ({ status: { token } }) };
        },
      },
      clock,
      never,
    );
    return { requests, clock, objects };
  }
  const bodyOf = (audiences: readonly string[], expirationSeconds: number) => ({
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { audiences, expirationSeconds, boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'pod', uid: '1' } },
  });

  it("is one of the pod's service account, for an audience, and is valid only while the pod exists", async () => {
    const { requests, objects } = issuer();
    expect(await objects.getServiceAccountToken(pod, { audience: 'vault', expirationSeconds: 1000 }, scope)).toBe('1');
    expect(requests).toEqual([{ path: `POST ${tokenPath}`, body: bodyOf(['vault'], 1000) }]);
  });

  it('is one of the account `default` for the API server, for an hour, unless the pod says otherwise', async () => {
    const { requests, clock, objects } = issuer();
    const plain = { metadata: pod.metadata };
    expect(await objects.getServiceAccountToken(plain, {}, scope)).toBe('1');
    expect(requests).toEqual([
      { path: 'POST /api/v1/namespaces/ns/serviceaccounts/default/token', body: bodyOf([], 3600) },
    ]);
    clock.advance(0.8 * 3_600_000 - 1);
    expect(await objects.getServiceAccountToken(plain, {}, scope)).toBe('1');
    clock.advance(1);
    expect(await objects.getServiceAccountToken(plain, {}, scope)).toBe('2');
  });

  it('is another one for each audience, time and pod', async () => {
    const { objects } = issuer();
    const requests = [{}, { audience: 'a' }, { audience: 'b' }, { audience: 'b', expirationSeconds: 700 }];
    const other = { ...pod, metadata: { ...pod.metadata, uid: '2' } };
    const scopes = new Map([pod, other].map((one) => [one, podScope(one)]));
    const all = async () => {
      const tokens: string[] = [];
      for (const one of [pod, other])
        for (const request of requests)
          tokens.push(await objects.getServiceAccountToken(one, request, scopes.get(one)!));
      return tokens;
    };
    expect(await all()).toEqual(['1', '2', '3', '4', '5', '6', '7', '8']);
    expect(await all()).toEqual(['1', '2', '3', '4', '5', '6', '7', '8']);
  });

  it('is requested again each day, even if it is valid for a month', async () => {
    const { clock, objects } = issuer();
    const get = () => objects.getServiceAccountToken(pod, { expirationSeconds: 30 * 86_400 }, scope);
    expect(await get()).toBe('1');
    clock.advance(86_400_000 - 1);
    expect(await get()).toBe('1');
    clock.advance(1);
    expect(await get()).toBe('2');
  });

  it('is requested once for all that need it at the same time, and again after a failure', async () => {
    const requests: ((token: string | undefined) => void)[] = [];
    const request = async () => {
      const token = await new Promise<string | undefined>((resolve) => requests.push(resolve));
      if (token === undefined) throw away;
      return { json: () => ({ status: { token } }) };
    };
    const objects = new APIObjects({ request }, new FakeClock(), never);
    const getThree = () => Promise.allSettled([1, 2, 3].map(() => objects.getServiceAccountToken(pod, {}, scope)));
    const failed = getThree();
    await settle();
    expect(requests).toHaveLength(1);
    requests[0]!(undefined);
    expect((await failed).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    const issued = getThree();
    await settle();
    expect(requests).toHaveLength(2);
    requests[1]!('token');
    expect(await issued).toEqual([1, 2, 3].map(() => ({ status: 'fulfilled', value: 'token' })));
  });

  it('is neither issued nor requested for a pod that has ended', async () => {
    const requests: AbortSignal[] = [];
    let respond = (): void => {};
    const request: APIRequests['request'] = async (_method, _path, { signal } = {}) => {
      requests.push(signal!);
      await new Promise<void>((resolve) => (respond = resolve));
      return { json: () => ({ status: { token: 'late' } }) };
    };
    const objects = new APIObjects({ request }, new FakeClock(), never);
    const ended = podScope(pod);
    const late = objects.getServiceAccountToken(pod, {}, ended);
    await settle();
    const closed = ended.close();
    await expect(late).rejects.toThrow('the pod has ended');
    expect(requests.map(({ aborted }) => aborted)).toEqual([true]);
    respond();
    await closed;
    await expect(objects.getServiceAccountToken(pod, {}, ended)).rejects.toThrow('the pod has ended');
    expect(requests).toHaveLength(1);
  });

  it('is never one of another account that a name leads to', async () => {
    const { requests, objects } = issuer();
    const hostile = { ...pod, spec: { serviceAccountName: '../default' } };
    await expect(objects.getServiceAccountToken(hostile, {}, scope)).rejects.toThrow(
      'failed to fetch token: Expected `serviceAccountName` to be a name',
    );
    const inOther = { metadata: { ...pod.metadata, namespace: '..' } };
    await expect(objects.getServiceAccountToken(inOther, {}, scope)).rejects.toThrow(
      'Expected `namespace` to be a name',
    );
    expect(requests).toEqual([]);
  });
});
