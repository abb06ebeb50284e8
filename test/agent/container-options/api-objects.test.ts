import { describe, expect, it, onTestFinished } from 'vitest';
import { APIObjects } from '../../../src/agent/container-options/api-objects.ts';
import { APIError } from '../../../src/kube/client/api-error.ts';
import { FakeClock } from '../../../src/testing/fake-clock.ts';
import { settle } from '../../../src/testing/settle.ts';
import { objectTransport } from '../../support/object-transport.ts';

const mapPath = '/api/v1/namespaces/ns/configmaps/map';
const tokenPath = '/api/v1/namespaces/ns/serviceaccounts/robot/token';
const pod = { metadata: { name: 'pod', namespace: 'ns', uid: '1' }, spec: { serviceAccountName: 'robot' } };
const away = new APIError('connection refused', { kind: 'network' });

function start(objects: Record<string, unknown>) {
  const clock = new FakeClock();
  const server = objectTransport(objects);
  return { clock, server, objects: new APIObjects(server.transport, clock) };
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

  it('says which RuntimeClass is missing', async () => {
    const { objects } = start({ '/apis/node.k8s.io/v1/runtimeclasses/gvisor': { handler: 'runsc' } });
    expect(await objects.lookupRuntimeHandler('gvisor')).toBe('runsc');
    await expect(objects.lookupRuntimeHandler('none')).rejects.toThrow('runtimeclass.node.k8s.io "none" not found');
  });

  it('requests a token again after 80 % of its time, and keeps it until its end when that fails', async () => {
    const { clock, server, objects } = start({});
    const issue = (token: string) => server.set(tokenPath, { status: { token } });
    const get = () => objects.getServiceAccountToken(pod, { expirationSeconds: 1000 });
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
    const get = () => objects.getServiceAccountToken(pod, { expirationSeconds: 1000 });
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
    const get = () => objects.getServiceAccountToken(pod, { expirationSeconds: 1000 });
    expect(await get()).toBe('first');
    server.set(tokenPath, { status: { token: 'second' } });
    clock.setWallTime(clock.now() + ms);
    expect(await get()).toBe(soon);
    clock.advance(800_000);
    expect(await get()).toBe('second');
  });
});
