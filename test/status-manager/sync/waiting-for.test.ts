import { describe, expect, it, vi } from 'vitest';
import { PodStatusCache } from '../../../src/status-manager/cache/pod-status-cache.ts';
import { APIError } from '../../../src/kube/client/api-error.ts';
import { podOf, SyncHarness } from './sync-harness.ts';

const staticPod = podOf('static', { annotations: { 'kubernetes.io/config.source': 'file' } });

/** When the harness starts. */
const since = '2026-01-02T03:04:05Z';

/** What `inspect()` says of the pod, and what the metrics count. */
function seen(h: SyncHarness, name: string): [object | undefined, object | undefined] {
  return [h.inspect(name).waitingFor, h.metrics.statusGauges()?.waitingPods];
}

describe('waitingFor', () => {
  it('limiter: qps and burst are used up, though the pod is in flight', async () => {
    const h = new SyncHarness({ qps: 0.1, burst: 1 });
    h.addPods('a', 'b');
    h.manager.start();
    h.set('a', '1');
    h.set('b', '1');
    await h.clock.advanceAsync(2_000);
    expect(h.takeRequests()).toEqual(['get a']);
    const counted = [{ reason: 'limiter', count: 2 }];
    expect(seen(h, 'a')).toEqual([{ kind: 'limiter', limit: 'qps', since }, counted]);
    expect(seen(h, 'b')).toEqual([{ kind: 'limiter', limit: 'qps', since }, counted]);
    await h.manager.stop();
  });

  it('mirror-pod: a static pod has no API object to write to', async () => {
    const h = new SyncHarness();
    h.podManager.addPod(staticPod);
    h.manager.start();
    h.set('static', '1');
    await h.clock.advanceAsync(2_000);
    expect(seen(h, 'static')).toEqual([{ kind: 'mirror-pod', since }, [{ reason: 'mirror-pod', count: 1 }]]);
    await h.manager.stop();
  });

  it('mirror-pod: it is gone since the last try, which has failed, so no other follows', async () => {
    const h = new SyncHarness();
    const annotations = { 'kubernetes.io/config.mirror': 'h', 'kubernetes.io/config.source': 'file' };
    const mirror = {
      ...podOf('static', { annotations }),
      metadata: { ...staticPod.metadata, uid: 'mirror', annotations },
    };
    h.podManager.addPod(staticPod);
    h.podManager.addPod(mirror);
    h.manager.start();
    h.client.fail({}, 403);
    h.set('static', '1');
    await h.settle();
    expect(h.inspect('static')).toMatchObject({ waitingFor: { kind: 'back-off' }, nextTryAt: '2026-01-02T03:04:06Z' });
    h.podManager.removePod(mirror);
    await h.clock.advanceAsync(60_000);
    expect(h.inspect('static')).toMatchObject({ waitingFor: { kind: 'mirror-pod', since }, nextTryAt: undefined });
    expect(h.takeRequests()).toEqual(['get static']);
    await h.manager.stop();
  });

  it('no-client: statuses are cached only', () => {
    const h = new SyncHarness({ client: undefined });
    h.addPods('a');
    h.set('a', '1');
    h.clock.advance(2_000);
    expect(seen(h, 'a')).toEqual([{ kind: 'no-client', since }, [{ reason: 'no-client', count: 1 }]]);
  });

  it('retry-after: a queued pod waits for the end of the pause, and not for its turn', async () => {
    const h = new SyncHarness({ concurrency: 1 });
    h.addPods('a', 'b', 'c');
    h.manager.start();
    h.client.fail({}, new APIError('busy', { kind: 'http', statusCode: 429, retryAfterMs: 20_000 }), 2);
    for (const name of ['a', 'b', 'c']) h.set(name, '1');
    await h.clock.advanceAsync(5_000);
    expect(h.takeRequests()).toEqual(['get a', 'get b']);
    expect(seen(h, 'c')).toEqual([
      { kind: 'retry-after', nextTryAt: '2026-01-02T03:04:25Z', since },
      expect.arrayContaining([{ reason: 'retry-after', count: 1 }]),
    ]);
    await h.manager.stop();
  });
});

it('a scrape looks at the pods that wait, not at all pods', async () => {
  const h = new SyncHarness();
  const names = Array.from({ length: 200 }, (_, i) => `p${i}`);
  h.addPods(...names);
  h.manager.start();
  for (const name of names) h.set(name, '1');
  await h.clock.advanceAsync(1_000);
  h.client.fail({}, 500);
  h.set('p7', '2');
  await h.settle();
  const looked = vi.spyOn(PodStatusCache.prototype, 'get');
  expect(h.metrics.statusGauges()).toMatchObject({
    cachedStatuses: 200,
    waitingPods: [{ reason: 'ServiceUnavailable', count: 1 }],
  });
  expect(new Set(looked.mock.calls.flat())).toEqual(new Set(['uid-p7']));
  looked.mockRestore();
  await h.manager.stop();
});
