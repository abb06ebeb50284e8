import { describe, expect, it } from 'vitest';
import { SyncHarness } from './sync-harness.ts';

const names = Array.from({ length: 200 }, (_, i) => `p${i}`);

describe('100,000 changes of 200 pods while the API server is down', () => {
  it.each(['always', 'when-stale'] as const)(
    'keep one status a pod, and afterwards one PATCH a pod brings the newest (%s)',
    async (readBeforePatch) => {
      const h = new SyncHarness({ readBeforePatch });
      h.addPods(...names);
      let isDown = true;
      h.client.react(
        {},
        () => {
          if (isDown) throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
        },
        Number.POSITIVE_INFINITY,
      );
      h.informed();
      h.manager.start();
      for (let i = 0; i < 500; i++) {
        for (const name of names) h.set(name, `${name} ${i}`);
        // Half a second, five minutes in all.
        await h.clock.advanceAsync(500);
        expect(h.clock.pendingTimers).toBeLessThanOrEqual(2 + 8);
      }
      const { pods, apiStatusVersions } = h.manager.inspect();
      expect(pods).toHaveLength(200);
      expect(apiStatusVersions.size).toBe(0);
      expect(pods.every(({ version, isInFlight }) => version === 500 && !isInFlight)).toBe(true);
      expect(h.metrics.statusGauges()).toMatchObject({ cachedStatuses: 200, unsentStatuses: 200 });
      // Not a request for each of 100,000 changes.
      expect(h.count()).toBeLessThan(200 * 20);

      isDown = false;
      h.takeRequests();
      await h.clock.advanceAsync(30_000);
      const requests = h.takeRequests();
      expect(requests.filter((request) => request.startsWith('patch'))).toHaveLength(200);
      expect(requests).toHaveLength(400);
      for (const name of names) expect(h.written(name)).toBe(`${name} 499`);
      await h.manager.stop();
      expect(h.clock.pendingTimers).toBe(0);
    },
  );
});

describe('pods that come and go', () => {
  it('leave nothing behind, however their syncs end', async () => {
    const h = new SyncHarness({ readBeforePatch: 'when-stale', syncPeriodMs: 1_000 });
    const failures = [undefined, 404, 422, 500, 503];
    for (let i = 0; i < 200; i++) {
      const name = `p${i}`;
      const [pod] = h.addPods(name);
      const code = failures[i % failures.length];
      if (code !== undefined) h.client.fail({ name, verb: i % 2 === 0 ? 'get' : 'patch' }, code);
      if (i === 0) h.manager.start();
      h.set(name, '1');
      if (i % 3 !== 0) await h.settle();
      h.podManager.removePod(pod!);
      h.manager.removeOrphanedStatuses([]);
      expect(await h.manager.whenWritten(`uid-${name}`)).toEqual({ written: false, reason: 'not-cached' });
    }
    await h.clock.advanceAsync(2_000);
    expect(h.manager.inspect()).toMatchObject({ pods: [], apiStatusVersions: new Map() });
    // Nobody waits for anything but the next tick.
    expect(h.clock.pendingTimers).toBe(1);
    await h.manager.stop();
  });
});
