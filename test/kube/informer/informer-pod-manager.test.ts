import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { APIError } from '../../../src/kube/client/api-error.ts';
import type { InformerPodManager } from '../../../src/kube/informer/index.ts';
import { createInformerPodManager } from '../../../src/kube/informer/index.ts';
import { timeFromEpochMs } from '../../../src/shared/time.ts';
import { StatusManager } from '../../../src/status-manager/index.ts';
import { FakeClock } from '../../../src/testing/fake-clock.ts';
import { FakePodClient } from '../../../src/testing/fake-pod-client.ts';
import { FakeTransport } from './fake-transport.ts';
import { fromFile, mirror, pod, recorder, recordingLogger } from './pods.ts';

let api: FakeTransport;
let clock: FakeClock;
let pods: InformerPodManager;
let random: number;
let logger: ReturnType<typeof recordingLogger>;
let listener: ReturnType<typeof recorder>;

beforeEach(() => {
  api = new FakeTransport();
  clock = new FakeClock();
  random = 0;
  logger = recordingLogger();
  listener = recorder();
  pods = createInformerPodManager({
    client: { transport: api },
    nodeName: 'node-a',
    clock,
    random: () => random,
    logger,
  });
});
afterEach(async () => {
  await pods.stop();
  if (clock.pendingTimers > 0) throw new Error('a timer was left behind');
  if (api.calls.some((call) => call.isWatch && !call.isOver && !call.signal.aborted))
    throw new Error('a watch was left open');
});

const turn = (): Promise<void> => clock.yieldToEventLoop();
const names = (): string[] =>
  pods
    .getPods()
    .map(({ metadata }) => metadata?.uid ?? '')
    .toSorted();

/** Lists `listed` at version 10 and opens the watch. */
async function sync(...listed: readonly ReturnType<typeof pod>[]): Promise<ReturnType<FakeTransport['last']>> {
  pods.subscribe(listener);
  pods.start();
  api.last(1).list('10', listed);
  await pods.whenSynced();
  await turn();
  listener.heard.length = 0;
  const watch = api.last(2).open();
  await turn();
  return watch;
}

describe('list and watch', () => {
  it('lists this node’s pods at the newest version, never from a cache that lags, then watches from there with bookmarks', async () => {
    random = 0.5;
    pods.start();
    expect(api.last(1).query).toEqual({ fieldSelector: 'spec.nodeName=node-a', limit: 500 });
    api.last(1).list('10', [pod('a', '7'), pod('b', '8')]);
    await pods.whenSynced();
    expect(names()).toEqual(['uid-a', 'uid-b']);
    await turn();
    expect(api.last(2).query).toEqual({
      fieldSelector: 'spec.nodeName=node-a',
      watch: true,
      allowWatchBookmarks: true,
      resourceVersion: '10',
      timeoutSeconds: 450,
    });
  });

  it('follows events', async () => {
    const watch = await sync(pod('a', '7'));
    watch
      .event('ADDED', pod('b', '11'))
      .event('MODIFIED', pod('a', '12'))
      .event('DELETED', pod('b', '13'))
      .event('MODIFIED', pod('c', '14'))
      .event('ADDED', pod('a', '15'))
      .event('DELETED', pod('unknown', '16'));
    await turn();
    expect(listener.heard).toEqual(['+uid-b@11', '~uid-a@7>12', '-uid-b@13', '+uid-c@14', '~uid-a@12>15']);
    expect(names()).toEqual(['uid-a', 'uid-c']);
    expect(pods.getPodByUID('uid-a')?.metadata?.resourceVersion).toBe('15');
  });

  it('a list may come without items', async () => {
    pods.start();
    api.last(1).respond({ metadata: { resourceVersion: '10' }, items: null });
    await pods.whenSynced();
    expect(names()).toEqual([]);
  });

  it.each([null, {}, { metadata: {} }, { metadata: { resourceVersion: '1' }, items: {} }, 'html'])(
    '%j is not a list, and the list is retried',
    async (body) => {
      pods.start();
      api.last(1).respond(body);
      await turn();
      clock.advance(800);
      await turn();
      expect(api.last(2).isWatch).toBe(false);
    },
  );

  it('an invalid pod in a list does not affect the others', async () => {
    pods.start();
    const odd = { metadata: { ...pod('odd', '9').metadata, namespace: '' } };
    api.last(1).respond({ metadata: { resourceVersion: '10' }, items: [odd, pod('a', '9')] });
    await turn();
    expect(pods.getPods().map(({ metadata }) => metadata?.name)).toEqual(['a']);
    expect(logger.messages).toHaveLength(1);
  });

  it('a resource version 0 in an event is ignored: a watch from 0 begins anywhere', async () => {
    const watch = await sync(pod('a', '7'));
    watch.event('BOOKMARK', { metadata: { resourceVersion: '0' } });
    await turn();
    clock.advance(5000);
    watch.end();
    await turn();
    expect(api.last(3).query).toMatchObject({ watch: true, resourceVersion: '10' });
  });

  it('listeners are called once for duplicate events', async () => {
    const watch = await sync(pod('a', '7'));
    const changed = pod('a', '11');
    watch.event('ADDED', pod('a', '7')).event('MODIFIED', changed).event('MODIFIED', changed).event('ADDED', changed);
    watch.event('DELETED', pod('a', '12')).event('DELETED', pod('a', '12'));
    await turn();
    expect(listener.heard).toEqual(['~uid-a@7>11', '-uid-a@12']);
  });

  it('a pod that becomes a mirror pod, or stops being one, is another pod', async () => {
    const watch = await sync(pod('a', '7'));
    watch.event('MODIFIED', pod('a', '11', 'uid-a', mirror)).event('MODIFIED', pod('a', '12'));
    await turn();
    expect(listener.heard).toEqual(['-uid-a@7', '+uid-a@12']);
    expect(names()).toEqual(['uid-a']);
  });

  it('an object that is not a valid pod is ignored and logged', async () => {
    const watch = await sync();
    watch
      .event('ADDED', {})
      .event('ADDED', { metadata: { name: 'x' } })
      .event('DELETED', { metadata: null })
      .event('ADDED', pod('a', '11'));
    await turn();
    expect(listener.heard).toEqual(['+uid-a@11']);
    expect(logger.messages).toHaveLength(3);
  });
});

describe('a watch that ends is resumed from the last version seen', () => {
  it('immediately, if it was healthy', async () => {
    const watch = await sync(pod('a', '7'));
    watch.event('MODIFIED', pod('a', '12')).event('BOOKMARK', { kind: 'Pod', metadata: { resourceVersion: '20' } });
    await turn();
    clock.advance(5000);
    watch.end();
    await turn();
    expect(api.last(3).query).toMatchObject({ watch: true, resourceVersion: '20' });
    expect(listener.heard).toEqual(['~uid-a@7>12']);
  });

  it('with back-off, if it ended as soon as it began', async () => {
    (await sync()).end();
    await turn();
    clock.advance(799);
    await turn();
    api.last(2);
    clock.advance(1);
    await turn();
    expect(api.last(3).query).toMatchObject({ watch: true, resourceVersion: '10' });
  });

  it('when it is cut, and listeners are not called', async () => {
    const watch = await sync(pod('a', '7'));
    watch.event('MODIFIED', pod('a', '12'));
    await turn();
    watch.fail(new APIError('cut', { kind: 'network' }));
    await turn();
    clock.advance(800);
    await turn();
    expect(api.last(3).query).toMatchObject({ watch: true, resourceVersion: '12' });
    expect(listener.heard).toEqual(['~uid-a@7>12']);
  });

  it.each([
    ['half an event', '{"type":"ADDED","object":{"metada'],
    ['no JSON', 'oops\n'],
    ['an unknown type', '{"type":"SOMETHING","object":{}}\n'],
    ['no object', '{"type":"ADDED"}\n'],
    ['null', 'null\n'],
  ])('when it sends %s', async (_what, text) => {
    const watch = await sync();
    watch.event('ADDED', pod('a', '12')).send(text);
    watch.end();
    await turn();
    clock.advance(800);
    await turn();
    expect(api.last(3).query).toMatchObject({ watch: true, resourceVersion: '12' });
  });

  it('when nothing is received for the inactivity timeout; a bookmark restarts it', async () => {
    const watch = await sync();
    clock.advance(149_000);
    watch.event('BOOKMARK', { metadata: { resourceVersion: '11' } });
    await turn();
    clock.advance(149_999);
    await turn();
    expect(watch.isOver).toBe(false);
    clock.advance(1);
    await turn();
    expect(watch.isOver).toBe(true);
    clock.advance(800);
    await turn();
    expect(api.last(3).query).toMatchObject({ watch: true, resourceVersion: '11' });
  });

  it('when there is no response', async () => {
    pods.start();
    api.last(1).list('10', []);
    await turn();
    clock.advance(150_000);
    await turn();
    expect(api.last(2).signal.aborted).toBe(true);
  });
});

describe('pods are listed again when the resource version has expired', () => {
  const expired = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' };

  it('after an ERROR event: immediately if the last list is old, at the newest version, and listeners get the difference', async () => {
    const watch = await sync(pod('same', '1'), pod('gone', '2'), pod('changed', '3'), pod('recreated', '4', 'uid-old'));
    const same = pods.getPodByUID('uid-same');
    clock.advance(60_000);
    watch.event('ERROR', expired);
    await turn();
    expect(api.last(3).query).toEqual({ fieldSelector: 'spec.nodeName=node-a', limit: 500 });
    expect(names()).toHaveLength(4);
    api
      .last(3)
      .list('30', [pod('same', '1'), pod('changed', '21'), pod('recreated', '22', 'uid-newer'), pod('new', '23')]);
    await turn();
    expect(listener.heard).toEqual(['-uid-gone@2', '-uid-old@4', '~uid-changed@3>21', '+uid-newer@22', '+uid-new@23']);
    expect(pods.getPodByUID('uid-same')).toBe(same);
    expect(api.last(4).query).toMatchObject({ watch: true, resourceVersion: '30' });
  });

  it.each<[string, number, { causes?: { reason: string }[] }]>([
    ['410', 410, {}],
    ['400', 400, {}],
    ['504 for a version that the server has not reached', 504, { causes: [{ reason: 'ResourceVersionTooLarge' }] }],
  ])('by the response %s to a watch', async (_what, statusCode, more) => {
    (await sync()).end();
    await turn();
    clock.advance(60_000);
    await turn();
    api.last(3).refuse(statusCode, more);
    await turn();
    expect(api.last(4).isWatch).toBe(false);
  });

  it('when three watches from the same version fail: the next event may be the cause', async () => {
    (await sync()).event('UNKNOWN', pod('a', '11'));
    for (const [calls, waitMs] of [
      [2, 800],
      [3, 1600],
    ] as const) {
      await turn();
      expect(api.last(calls).isWatch).toBe(true);
      clock.advance(waitMs);
      await turn();
      api
        .last(calls + 1)
        .open()
        .event('UNKNOWN', pod('a', '11'));
    }
    await turn();
    clock.advance(3200);
    await turn();
    expect(api.last(5)).toMatchObject({ isWatch: false, query: { limit: 500 } });
  });

  it('when watches end as soon as they begin, as behind a proxy without streaming, and it is logged', async () => {
    (await sync(pod('a', '7'))).end();
    for (const [calls, waitMs] of [
      [2, 800],
      [3, 1600],
    ] as const) {
      await turn();
      clock.advance(waitMs);
      await turn();
      api
        .last(calls + 1)
        .open()
        .end();
    }
    await turn();
    clock.advance(3200);
    await turn();
    expect(api.last(5)).toMatchObject({ isWatch: false, query: { limit: 500 } });
    expect(logger.failedRounds).toMatchObject([
      { reason: 'unexpected watch close: the watch ended within 5 s', next: 'watch' },
      {},
      { next: 'list' },
    ]);
  });

  it('when watches open and then stall without a bookmark', async () => {
    await sync(pod('a', '7'));
    for (let calls = 2; calls < 5; calls++) {
      if (calls > 2) api.last(calls).open();
      await turn();
      clock.advance(150_000);
      await turn();
      clock.advance(10_000);
      await turn();
    }
    expect(api.last(5)).toMatchObject({ isWatch: false, query: { limit: 500 } });
  });

  it('but not after an outage of the server, because all nodes would list at the same time', async () => {
    (await sync()).fail(new APIError('reset', { kind: 'network' }));
    for (let i = 3; i < 13; i++) {
      await turn();
      clock.advance(30_000);
      await turn();
      const call = api.last(i);
      expect(call.isWatch).toBe(true);
      if (i % 2 === 0) call.fail(new APIError('refused', { kind: 'network' }));
      else call.refuse(503);
    }
  });

  it('with back-off when the version of the last list has expired already', async () => {
    (await sync()).event('ERROR', expired);
    await turn();
    for (const [calls, waitMs] of [
      [2, 800],
      [4, 1600],
      [6, 3200],
    ] as const) {
      clock.advance(waitMs - 1);
      await turn();
      expect(api.calls).toHaveLength(calls);
      clock.advance(1);
      await turn();
      api.last(calls + 1).list('40', []);
      await turn();
      api
        .last(calls + 2)
        .open()
        .event('ERROR', expired);
      await turn();
    }
  });
});

describe('failures', () => {
  it('are tried again after 0.8 s, doubled up to 30 s, each with up to as much again', async () => {
    pods.start();
    const waits: number[] = [];
    for (random of [0, 0, 0.5, 0, 0, 0, 0, 0.999]) {
      api.calls.at(-1)!.refuse(500);
      await turn();
      const before = api.calls.length;
      let waited = 0;
      while (api.calls.length === before) {
        clock.advance(100);
        waited += 100;
        await turn();
      }
      waits.push(waited);
    }
    expect(waits).toEqual([800, 1600, 4800, 6400, 12_800, 25_600, 30_000, 60_000]);
    api.calls.at(-1)!.list('10', []);
    await pods.whenSynced();
  });

  it('wait at least as long as the server asks', async () => {
    pods.start();
    api.last(1).refuse(429, { retryAfterMs: 7000 });
    await turn();
    clock.advance(6999);
    await turn();
    expect(api.calls).toHaveLength(1);
    clock.advance(1);
    await turn();
    expect(api.calls).toHaveLength(2);
  });

  it.each([
    ['was cut', 0],
    ['ended', -1],
  ])('start again at 0.8 s after a watch that lasted and %s', async (what, fewer) => {
    pods.start();
    for (let i = 1; i <= 5; i++) {
      api.last(i).refuse(500);
      await clock.advanceAsync(60_000);
    }
    api.last(6).list('10', []);
    await turn();
    const watch = api.last(7).open();
    await turn();
    clock.advance(5000);
    if (what === 'was cut') watch.fail(new APIError('cut', { kind: 'network' }));
    else watch.end();
    await turn();
    if (what !== 'was cut') api.last(8).refuse(500);
    await turn();
    clock.advance(799);
    await turn();
    expect(api.calls).toHaveLength(7 - fewer);
    clock.advance(1);
    await turn();
    expect(api.calls).toHaveLength(8 - fewer);
  });

  it('a list that hangs is aborted', async () => {
    pods.start();
    clock.advance(60_000);
    await turn();
    expect(api.last(1).signal.aborted).toBe(true);
    clock.advance(800);
    await turn();
    api.last(2);
  });

  it('are logged with the first one if no watch has ever been healthy', async () => {
    pods.start();
    api.last(1).refuse(403, { reason: 'Forbidden' });
    await turn();
    expect(logger.messages).toEqual(['Failed to list and watch the pods of the node']);
  });

  it('are logged as one warning after 30 s, with cause and start time, and one line when a watch is healthy again', async () => {
    const watch = await sync();
    clock.advance(6_000);
    const since = timeFromEpochMs(clock.now());
    watch.event('ERROR', { code: 410 });
    await turn();
    let call = 3;
    for (const delayMs of [800, 1_600, 3_200, 6_400, 12_800, 25_600]) {
      api.last(call++).refuse(403, { reason: 'Forbidden' });
      await turn();
      clock.advance(delayMs);
      await turn();
    }
    const failing = 'Failed to list and watch the pods of the node';
    expect(logger.messages).toEqual([]);
    api.last(call++).refuse(403, { reason: 'Forbidden' });
    await turn();
    expect(logger.messages).toEqual([failing]);
    expect(logger.fields[0]).toMatchObject({
      nodeName: 'node-a',
      failingSince: since,
      kind: 'http',
      statusCode: 403,
      reason: '403',
      next: 'list',
      delayMs: 30_000,
    });
    clock.advance(30_000);
    await turn();
    api.last(call++).list('10', []);
    await turn();
    api.last(call).open();
    await turn();
    clock.advance(4_999);
    expect(logger.messages).toEqual([failing]);
    clock.advance(1);
    expect(logger.messages).toEqual([failing, 'Watching the pods of the node again']);
    expect(logger.fields[1]).toEqual({ nodeName: 'node-a', failingSince: since, failures: 8, outageMs: 85_400 });
  });

  describe('a success of another request', () => {
    const refusal = (): APIError => new APIError('connect ECONNREFUSED', { kind: 'network' });
    /** The list fails until its next try is more than 20 s away. */
    async function failUntilWaiting(fail: (call: ReturnType<FakeTransport['last']>) => void): Promise<number> {
      pods.start();
      let calls = 1;
      for (const delayMs of [800, 1_600, 3_200, 6_400, 12_800]) {
        fail(api.last(calls++));
        await turn();
        clock.advance(delayMs);
        await turn();
      }
      fail(api.last(calls));
      await turn();
      return calls;
    }

    it('ends the wait for the next try of an informer that could not reach the server', async () => {
      const calls = await failUntilWaiting((call) => call.fail(refusal()));
      pods.requestSucceeded();
      await turn();
      expect(api.last(calls + 1).isWatch).toBe(false);
    });

    it('ends it at most once in 5 s, if the list still fails', async () => {
      const calls = await failUntilWaiting((call) => call.refuse(502));
      pods.requestSucceeded();
      await turn();
      api.last(calls + 1).refuse(502);
      await turn();
      for (let i = 0; i < 7; i++) {
        pods.requestSucceeded();
        await turn();
        clock.advance(100);
      }
      expect(api.calls).toHaveLength(calls + 1);
    });

    it.each([
      ['a refusal', 403, undefined],
      ['an expired version', 410, undefined],
      ['Retry-After', 503, 60_000],
    ])('does not end the wait after %s', async (_, code, retryAfterMs) => {
      pods.start();
      api.last(1).refuse(code, retryAfterMs === undefined ? {} : { retryAfterMs });
      await turn();
      pods.requestSucceeded();
      await turn();
      expect(api.calls).toHaveLength(1);
    });

    it('is told by a status manager', async () => {
      const client = new FakePodClient([pod('a', '1')], { clock });
      const manager = new StatusManager({
        client,
        podManager: pods,
        podCouldHaveRunningContainers: () => false,
        clock,
      });
      const calls = await failUntilWaiting((call) => call.fail(refusal()));
      manager.start();
      manager.setPodStatus(pod('a', '1'), { phase: 'Running' });
      await manager.whenWritten('uid-a');
      await turn();
      expect(api.last(calls + 1).isWatch).toBe(false);
      await manager.stop();
    });
  });

  it('a watch whose version has expired (410) is not said to be a failure of requests', async () => {
    const manager = new StatusManager({
      ...{ client: new FakePodClient([], { clock }), podManager: pods, clock, logger },
      podCouldHaveRunningContainers: () => false,
    });
    manager.start();
    await sync();
    for (let call = 3; clock.now() < Date.parse('2000-01-01T00:10:00Z') && call < 40; call++) {
      const last = api.last(call - 1);
      if (last.isWatch) last.open().event('ERROR', { code: 410, reason: 'Expired', message: 'too old' });
      else last.list('10', []);
      await turn();
      if (api.calls.length >= call) continue;
      clock.advance(30_000);
      await turn();
    }
    expect(logger.messages.filter((message) => /request/i.test(message))).toEqual([]);
    expect(logger.messages).toContain('Failed to list and watch the pods of the node');
    expect(manager.inspect()).toMatchObject({ requestFailure: undefined, outage: undefined });
    await manager.stop();
  });

  it('of a long-lived watch count from the time it broke, and a successful list in between does not end them', async () => {
    const watch = await sync();
    clock.advance(3_600_000);
    const since = timeFromEpochMs(clock.now());
    watch.fail(new APIError('reset', { kind: 'network' }));
    await turn();
    clock.advance(800);
    await turn();
    for (let call = 3; clock.now() < Date.parse(since) + 60_000; call++) {
      if (api.last(call).isWatch) api.last(call).refuse(403);
      else api.last(call).list('11', []);
      await turn();
      if (api.calls.length > call) continue;
      clock.advance(30_000);
      await turn();
    }
    expect(logger.fields).toMatchObject([{ failingSince: since, statusCode: 403 }]);
  });
});

describe('lastEventAt', () => {
  it('is the time of the last list, event or bookmark', async () => {
    expect(pods.informerState().lastEventAt).toBeUndefined();
    const watch = await sync();
    const listedAt = timeFromEpochMs(clock.now());
    clock.advance(3000);
    expect(pods.informerState().lastEventAt).toBe(listedAt);
    watch.event('BOOKMARK', { metadata: { resourceVersion: '11' } });
    await turn();
    const bookmarkedAt = timeFromEpochMs(clock.now());
    clock.advance(2000);
    expect(pods.informerState().lastEventAt).toBe(bookmarkedAt);
  });
});

describe('informerState', () => {
  it('says whether the first list is complete, and how often a watch was started again', async () => {
    expect(pods.informerState()).toEqual({ isSynced: false, lastEventAt: undefined, restarts: 0 });
    const watch = await sync();
    expect(pods.informerState()).toEqual({ isSynced: true, lastEventAt: timeFromEpochMs(clock.now()), restarts: 0 });
    watch.fail(new Error('reset'));
    await turn();
    expect(pods.informerState()).toMatchObject({ isSynced: true, restarts: 1 });
  });

  it('says why the pods cannot be listed and since when, until a watch is healthy', async () => {
    const failingSince = timeFromEpochMs(clock.now());
    pods.start();
    await turn();
    api.last(1).refuse(401, { reason: 'Unauthorized' });
    await turn();
    expect(pods.informerState().failure).toEqual({ failingSince, reason: '401' });
    clock.advance(2_000);
    await turn();
    api.last(2).fail(Object.assign(new Error('no such host'), { code: 'ENOTFOUND' }));
    await turn();
    expect(pods.informerState().failure).toEqual({ failingSince, reason: 'request failed: ENOTFOUND' });
    clock.advance(3_000);
    await turn();
    api.last(3).list('10', []);
    await turn();
    api.last(4).open();
    await turn();
    clock.advance(5_000);
    expect(pods.informerState().failure).toBeUndefined();
  });
});

describe('static pods and their mirrors', () => {
  it('are separate pods, and each is found by the other', async () => {
    const watch = await sync();
    pods.setStaticPods([pod('etcd', '0', 'uid-static', fromFile)]);
    watch.event('ADDED', pod('etcd', '11', 'uid-mirror', mirror));
    await turn();
    expect(listener.heard).toEqual(['+uid-static@0']);
    expect(names()).toEqual(['uid-static']);
    expect(pods.translatePodUID('uid-mirror')).toBe('uid-static');
    expect(pods.getMirrorPodByPod(pods.getPodByUID('uid-static')!)?.metadata?.uid).toBe('uid-mirror');
    expect(pods.getUIDTranslations().podToMirror.get('uid-static')).toBe('uid-mirror');
    watch.event('DELETED', pod('etcd', '12', 'uid-mirror', mirror));
    await turn();
    expect(pods.translatePodUID('uid-mirror')).toBe('uid-mirror');
    expect(names()).toEqual(['uid-static']);
  });

  it('a pod that only claims to be a mirror pod is not run, and the log says so', async () => {
    await sync(pod('claims', '11', 'uid-claims', mirror));
    expect(listener.heard).toEqual([]);
    expect(logger.fields).toContainEqual(expect.objectContaining({ podUID: 'uid-claims' }));
  });

  it('listeners are called for mirror pods only with includeMirrorPods, so a static pod is not run twice', async () => {
    const all = recorder();
    const watch = await sync(pod('early', '9', 'uid-early-mirror', mirror));
    pods.subscribe(all, { includeMirrorPods: true });
    pods.setStaticPods([pod('etcd', '0', 'uid-static', fromFile)]);
    watch
      .event('ADDED', pod('etcd', '11', 'uid-mirror', mirror))
      .event('MODIFIED', pod('etcd', '12', 'uid-mirror', mirror))
      .event('DELETED', pod('etcd', '13', 'uid-mirror', mirror));
    await turn();
    const late = recorder();
    pods.subscribe(late);
    expect(listener.heard).toEqual(['+uid-static@0']);
    expect(late.heard).toEqual(['+uid-static@0']);
    expect(all.heard).toEqual([
      '+uid-early-mirror@9',
      '+uid-static@0',
      '+uid-mirror@11',
      '~uid-mirror@11>12',
      '-uid-mirror@13',
    ]);
    expect(() => pods.subscribe(late, { includeMirrorPods: 'yes' as unknown as boolean })).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', path: 'includeMirrorPods' }),
    );
  });

  it('onMirrorPodAdded is called when the mirror of a static pod is received', async () => {
    const watch = await sync();
    const heard: string[] = [];
    const end = pods.onMirrorPodAdded((uid) => void heard.push(uid));
    pods.setStaticPods([pod('etcd', '0', 'uid-static', fromFile)]);
    watch.event('ADDED', pod('etcd', '11', 'uid-mirror', mirror));
    await turn();
    expect(heard).toEqual(['uid-static']);
    end();
  });

  it('static pods survive a list, which does not contain them', async () => {
    const watch = await sync();
    pods.setStaticPods([pod('etcd', '0', 'uid-static', fromFile)]);
    clock.advance(60_000);
    watch.event('ERROR', { code: 410 });
    await turn();
    api.last(3).list('30', []);
    await turn();
    expect(names()).toEqual(['uid-static']);
  });

  it('setStaticPods calls listeners for the difference, and not for unchanged objects', () => {
    pods.subscribe(listener);
    const kept = pod('a', '0', 'uid-a', fromFile);
    pods.setStaticPods([kept, pod('b', '0', 'uid-b', fromFile), pod('c', '0', 'uid-c', fromFile)]);
    listener.heard.length = 0;
    pods.setStaticPods([kept, pod('b', '1', 'uid-b', fromFile), pod('c', '0', 'uid-c2', fromFile)]);
    expect(listener.heard).toEqual(['-uid-c@0', '~uid-b@0>1', '+uid-c2@0']);
  });

  it.each([
    ['of the API', pod('a', '1')],
    ['without a UID', { metadata: { name: 'a', annotations: fromFile } }],
  ])('a pod %s is refused, and nothing changes', (_what, wrong) => {
    const before = pod('b', '0', 'uid-b', fromFile);
    pods.setStaticPods([before]);
    expect(() => pods.setStaticPods([pod('c', '0', 'uid-c', fromFile), wrong])).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    );
    expect(pods.getPods()).toEqual([before]);
  });
});

describe('listeners', () => {
  it('are called for known pods, as added, and not after the end of the subscription', async () => {
    const watch = await sync(pod('a', '7'));
    pods.setStaticPods([pod('s', '0', 'uid-s', fromFile)]);
    const late = recorder();
    const end = pods.subscribe(late);
    expect(late.heard).toEqual(['+uid-s@0', '+uid-a@7']);
    end();
    watch.event('DELETED', pod('a', '11'));
    await turn();
    expect(late.heard).toHaveLength(2);
  });

  it('that change static pods during their first calls get every change in order', () => {
    pods.setStaticPods([pod('a', '0', 'uid-a', fromFile), pod('b', '0', 'uid-b', fromFile)]);
    const changing = recorder();
    pods.subscribe({
      ...changing,
      onPodAdded: (added) => {
        changing.onPodAdded?.(added);
        if (added.metadata?.name === 'a') pods.setStaticPods([added, pod('c', '0', 'uid-c', fromFile)]);
      },
    });
    expect(changing.heard).toEqual(['+uid-a@0', '+uid-b@0', '-uid-b@0', '+uid-c@0']);
  });

  it('cannot change the metadata that others get: pods from the server are frozen', async () => {
    const watch = await sync(pod('a', '7'));
    watch.event('ADDED', pod('b', '11'));
    await turn();
    for (const uid of ['uid-a', 'uid-b']) {
      const { metadata } = pods.getPodByUID(uid)!;
      expect(Object.isFrozen(metadata)).toBe(true);
      expect(Object.isFrozen(metadata?.annotations)).toBe(true);
    }
  });

  it('that throw, and a logger that throws, do not stop the informer', async () => {
    const broken = (): void => {
      throw new Error('no log');
    };
    const brokenLogger = { trace: broken, debug: broken, info: broken, warn: broken, error: broken };
    const own = createInformerPodManager({
      client: { transport: api },
      nodeName: 'node-a',
      clock,
      logger: brokenLogger,
    });
    own.subscribe({
      onPodAdded: () => {
        throw new Error('no');
      },
      onPodUpdated: () => Promise.reject(new Error('no')) as unknown as void,
    });
    own.start();
    api.last(1).refuse(500);
    await turn();
    clock.advance(60_000);
    await turn();
    api.last(2).list('10', [pod('a', '7')]);
    await turn();
    const watch = api.last(3).open();
    watch.event('MODIFIED', pod('a', '11')).event('ADDED', {}).event('ADDED', pod('b', '12'));
    await turn();
    expect(own.getPods().map(({ metadata }) => metadata?.resourceVersion)).toEqual(['11', '12']);
    watch.event('ERROR', { code: 410 });
    await turn();
    clock.advance(60_000);
    await turn();
    expect(api.calls.length).toBeGreaterThan(3);
    await own.stop();
  });

  it('that throw do not affect others', async () => {
    const angry = {
      onPodAdded: () => {
        throw new Error('no');
      },
    };
    pods.subscribe(angry);
    const watch = await sync(pod('a', '7'));
    watch.event('ADDED', pod('b', '11')).event('ADDED', pod('c', '12'));
    await turn();
    expect(listener.heard).toEqual(['+uid-b@11', '+uid-c@12']);
    expect(() => pods.subscribe(angry)).not.toThrow();
  });
});

describe('whether a pod is gone', () => {
  it('is known from the first list on', async () => {
    pods.start();
    expect(pods.isGone('uid-b')).toBe(false);
    api.last(1).list('10', [pod('a', '7')]);
    await turn();
    expect(['uid-a', 'uid-b'].map((uid) => pods.isGone(uid))).toEqual([false, true]);
    const watch = api.last(2).open();
    await turn();
    watch.event('DELETED', pod('a', '13'));
    await turn();
    expect(pods.isGone('uid-a')).toBe(true);
  });
});

describe('lifecycle', () => {
  it('start() twice lists once; after stop() it throws', async () => {
    pods.start();
    pods.start();
    api.last(1);
    await pods.stop();
    expect(() => pods.start()).toThrow(expect.objectContaining({ code: 'INVALID_STATE' }));
  });

  it('stop() before the first list rejects whenSynced', async () => {
    const synced = pods.whenSynced();
    pods.start();
    await pods.stop();
    await expect(synced).rejects.toMatchObject({ code: 'INVALID_STATE' });
  });

  it('stop() right after the first list leaves no watch open', async () => {
    pods.start();
    api.last(1).list('10', []);
    await pods.whenSynced();
    await pods.stop();
    expect(clock.pendingTimers).toBe(0);
  });

  it('stop() during back-off, and twice', async () => {
    pods.start();
    api.last(1).refuse(500);
    await turn();
    await Promise.all([pods.stop(), pods.stop()]);
    expect(clock.pendingTimers).toBe(0);
    api.last(1);
  });

  it('listeners are not called after stop(); the pods stay readable', async () => {
    const watch = await sync(pod('a', '7'));
    watch.event('ADDED', pod('b', '11'));
    await pods.stop();
    expect(listener.heard).toEqual([]);
    expect(names()).toEqual(['uid-a']);
    expect(watch.isOver).toBe(true);
  });

  it('a list that arrives after stop() has begun has no effect', async () => {
    pods.subscribe(listener);
    pods.start();
    api.last(1).list('10', [pod('a', '7')]);
    await pods.stop();
    expect(listener.heard).toEqual([]);
    expect(names()).toEqual([]);
    expect(pods.informerState()).toMatchObject({ isSynced: false, lastEventAt: undefined });
  });

  it.each([
    ['nodeName', ''],
    ['nodeName', 'a,metadata.name=b'],
    ['listTimeoutMs', 0],
    ['inactivityTimeoutMs', Number.NaN],
    ['inactivityTimeoutMs', 2 ** 31],
  ])('%s: %j is refused', (name, value) => {
    expect(() => createInformerPodManager({ client: { transport: api }, nodeName: 'a', [name]: value })).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', path: name }),
    );
  });
});
