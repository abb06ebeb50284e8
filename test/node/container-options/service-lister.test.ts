import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ServiceLister } from '../../../src/node/container-options/service-lister.ts';
import { APIError } from '../../../src/kube/client/api-error.ts';
import { timeFromEpochMs } from '../../../src/shared/time.ts';
import { FakeClock } from '../../../src/testing/fake-clock.ts';
import { type Call, FakeTransport } from '../../kube/informer/fake-transport.ts';
import { recordingLogger } from '../../kube/informer/pods.ts';

let api: FakeTransport;
let clock: FakeClock;
let logger: ReturnType<typeof recordingLogger>;
let lister: ServiceLister;

beforeEach(() => {
  api = new FakeTransport();
  clock = new FakeClock();
  logger = recordingLogger();
  lister = new ServiceLister({ transport: api, clock, random: () => 0, logger });
});
afterEach(async () => {
  await lister.close();
  if (clock.pendingTimers > 0) throw new Error('a timer was left behind');
  if (api.calls.some(({ isWatch, isOver, signal }) => isWatch && !isOver && !signal.aborted))
    throw new Error('a watch was left open');
});

const turn = (): Promise<void> => clock.yieldToEventLoop();

function service(name: string, namespace = 'ns', spec: object = {}): object {
  const metadata = { name, namespace, uid: `uid-${name}`, resourceVersion: '11', labels: { app: name } };
  return { metadata, spec: { clusterIP: '10.0.0.1', type: 'ClusterIP', selector: { app: name }, ...spec }, status: {} };
}

/** Lists `listed` and opens the watch. */
async function sync(...listed: readonly object[]): Promise<Call> {
  const synced = lister.waitForSync();
  api.last(1).list('10', listed);
  await synced;
  await turn();
  return api.last(2).open();
}

const failureOf = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: Error) => error.message);
const namesIn = (namespace: string): string[] => lister.listServices(namespace).map(({ metadata: { name } }) => name);

describe('ServiceLister', () => {
  it('lists and watches the Services of all namespaces once, also after a second start()', async () => {
    lister.start();
    lister.start();
    await sync();
    expect(api.calls.map(({ path, isWatch, query }) => ({ path, isWatch, query }))).toEqual([
      { path: '/api/v1/services', isWatch: false, query: { limit: 500 } },
      {
        path: '/api/v1/services',
        isWatch: true,
        query: { resourceVersion: '10', watch: true, allowWatchBookmarks: true, timeoutSeconds: 300 },
      },
    ]);
  });

  it('keeps of a Service only what environments need', async () => {
    const ports = [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 8080, nodePort: 30_080 }, { port: 53 }];
    const watch = await sync(service('a', 'ns', { ports }));
    watch.event('ADDED', service('b', 'ns', { ports }));
    await turn();
    const kept = [
      { name: 'http', port: 80, protocol: 'TCP' },
      { name: '', port: 53, protocol: 'TCP' },
    ];
    expect(lister.listServices('ns')).toEqual(
      ['a', 'b'].map((name) => ({
        metadata: { name, namespace: 'ns' },
        spec: { clusterIP: '10.0.0.1', ports: kept },
      })),
    );
  });

  it('follows events, by namespace', async () => {
    const watch = await sync(service('kubernetes', 'default'), service('a'));
    expect([namesIn('default'), namesIn('ns'), namesIn('other')]).toEqual([['kubernetes'], ['a'], []]);
    watch.event('ADDED', service('a', 'other')).event('MODIFIED', service('a', 'ns', { clusterIP: '10.0.0.2' }));
    watch.event('ADDED', service('b')).event('DELETED', service('b')).event('DELETED', service('b'));
    await turn();
    expect([namesIn('default'), namesIn('ns'), namesIn('other')]).toEqual([['kubernetes'], ['a'], ['a']]);
    expect(lister.listServices('ns')).toMatchObject([{ spec: { clusterIP: '10.0.0.2' } }]);
  });

  it('has no Service without a cluster IP, which one may lose', async () => {
    const external = { type: 'ExternalName', clusterIP: undefined };
    const watch = await sync(
      ...[service('a'), service('b', 'ns', external), service('headless', 'ns', { clusterIP: 'None' })],
    );
    expect(namesIn('ns')).toEqual(['a']);
    watch.event('MODIFIED', service('a', 'ns', external));
    await turn();
    expect(namesIn('ns')).toEqual([]);
  });

  it('has the last known Services while the API server does not respond, and then those of the next list', async () => {
    const watch = await sync(service('a'), service('b'));
    watch.fail(new APIError('reset', { kind: 'network' }));
    await turn();
    clock.advance(800);
    await turn();
    api.last(3).refuse(410);
    await turn();
    await lister.waitForSync();
    expect(namesIn('ns')).toEqual(['a', 'b']);
    clock.advance(1600);
    await turn();
    api.last(4).list('20', [service('b'), service('c')]);
    await turn();
    expect(namesIn('ns')).toEqual(['b', 'c']);
  });
});

describe('waitForSync', () => {
  it('rejects when the first list has not come within 10 s; the list goes on', async () => {
    const failure = failureOf(lister.waitForSync());
    clock.advance(10_000);
    expect(await failure).toBe('the first list of Services took over 10000 ms');
    const again = lister.waitForSync();
    api.last(1).list('10', [service('a')]);
    await again;
    expect(namesIn('ns')).toEqual(['a']);
  });

  it('has no time limit and sends no request once the Services have been listed', async () => {
    await sync();
    const { pendingTimers } = clock;
    const waiting = lister.waitForSync();
    expect(clock.pendingTimers).toBe(pendingTimers);
    await waiting;
    expect(api.calls).toHaveLength(2);
  });
});

describe('close', () => {
  it('ends the list and those who wait for it, and nothing starts afterwards', async () => {
    const failure = failureOf(lister.waitForSync());
    await lister.close();
    expect(await failure).toBe('the runtime helper has been closed');
    expect(api.last(1).signal.aborted).toBe(true);
    expect(clock.pendingTimers).toBe(0);
    lister.start();
    expect(await failureOf(lister.waitForSync())).toBe('the runtime helper has been closed');
    expect(api.calls).toHaveLength(1);
  });

  it('ends the watch; the Services stay readable', async () => {
    const watch = await sync(service('a'));
    await Promise.all([lister.close(), lister.close()]);
    expect(watch.isOver).toBe(true);
    expect(clock.pendingTimers).toBe(0);
    await lister.waitForSync();
    expect(namesIn('ns')).toEqual(['a']);
  });
});

it('a list and watch that fails from the beginning is one warning at once that names Services, and one line when it is over', async () => {
  const failingSince = timeFromEpochMs(clock.now());
  lister.start();
  let call = 1;
  for (const delayMs of [800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000]) {
    api.last(call++).refuse(403, { reason: 'Forbidden' });
    await turn();
    clock.advance(delayMs);
    await turn();
  }
  const failing = 'Failed to list and watch Services';
  expect(logger.messages).toEqual([failing]);
  expect(logger.fields[0]).toEqual({
    ...{ failingSince, failures: 1, kind: 'http', statusCode: 403, reason: '403', next: 'list', delayMs: 800 },
  });
  api.last(call++).list('10', []);
  await turn();
  api.last(call).open();
  await turn();
  clock.advance(5_000);
  expect(logger.messages).toEqual([failing, 'Watching Services again']);
});
