import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, expect, it } from 'vitest';
import { noopState } from '../../../src/status-manager/allocation/allocation-state.ts';
import { noopMetrics } from '../../../src/status-manager/metrics.ts';
import { APIError } from '../../../src/kube/client/api-error.ts';
import { outcomeChannelName } from '../../../src/status-manager/sync/outcomes.ts';
import { podOf, SyncHarness, uidOf } from './sync-harness.ts';

const fail = (): never => {
  throw new Error('out of order');
};

describe('a port that throws affects nothing else', () => {
  it('a listener', async () => {
    const h = new SyncHarness();
    h.addPods('a', 'b');
    const heard: string[] = [];
    h.manager.subscribe({ onPodUpdated: fail, onPodRemoved: fail, onOutcome: fail });
    h.manager.subscribe({ onPodUpdated: (pod) => void heard.push(pod.metadata!.name!) });
    h.manager.start();
    h.set('a', '1');
    h.set('b', '1');
    await h.settle();
    expect([h.written('a'), h.written('b'), heard]).toEqual(['1', '1', ['a', 'b']]);
    expect(h.takeOutcomes()).toEqual(['written 1', 'written 1']);
    expect(h.logger.errors[0]?.fields.reason).toBe('out of order');
    await h.manager.stop();
  });

  it('a listener or logger whose promise rejects', async () => {
    // An async function fits where a void one is asked for.
    const reject = (() => Promise.reject(new Error('out of order'))) as () => never;
    const h = new SyncHarness({ logger: { trace: reject, debug: reject, info: reject, warn: reject, error: reject } });
    h.addPods('a');
    h.manager.subscribe({ onPodUpdated: reject, onOutcome: reject });
    h.manager.start();
    h.set('a', '1');
    await h.settle();
    expect(h.written('a')).toBe('1');
    await h.manager.stop();
  });

  it('an allocation state', async () => {
    const h = new SyncHarness({ allocationState: { ...noopState, delete: fail } });
    for (const name of ['a', 'b', 'c']) h.set(name, '1');
    h.manager.removeOrphanedStatuses([]);
    expect(h.manager.inspect().pods).toEqual([]);
    expect(h.logger.errors[0]?.fields).toMatchObject({ method: 'allocationState.delete', podUID: 'uid-a' });
    await h.manager.stop();
  });

  it('a logger', async () => {
    const h = new SyncHarness({ logger: { trace: fail, debug: fail, info: fail, warn: fail, error: fail } });
    h.addPods('a', 'b');
    h.manager.subscribe({ onPodUpdated: fail });
    h.client.fail({ verb: 'patch', name: 'a' }, 422);
    h.client.fail({ verb: 'get', name: 'b' }, 500);
    h.manager.start();
    h.set('a', '1');
    h.set('b', '1');
    h.manager.setContainerReadiness('nobody', 'nothing', true);
    await h.clock.advanceAsync(10_000);
    expect([h.written('a'), h.written('b')]).toEqual(['1', '1']);
    await h.manager.stop();
  });

  it('metrics', async () => {
    const metrics = Object.fromEntries(Object.keys(noopMetrics).map((method) => [method, fail]));
    const h = new SyncHarness({ metrics: metrics as unknown as typeof noopMetrics });
    h.addPods('a');
    h.manager.start();
    h.set('a', '1', { containerStatuses: [{ name: 'app', state: { terminated: { exitCode: 1 } } }] });
    await h.settle();
    expect(h.written('a')).toBe('1');
    expect(h.logger.errors.map(({ message }) => message)).toContain('User callback threw');
    await h.manager.stop();
  });

  it('a safety provider; containers then count as possibly running', async () => {
    const h = new SyncHarness({ podCouldHaveRunningContainers: fail });
    const pod = h.addPod(podOf('a', { deletionTimestamp: '2026-01-02T03:04:05Z' }));
    h.manager.start();
    h.manager.terminatePod(pod);
    await h.settle();
    expect(h.client.pod('default', 'a')?.status?.phase).toBe('Pending');
    expect(h.count('delete')).toBe(0);
    await h.manager.stop();
  });

  it.each<[string, unknown, string]>([
    ['no list', 'none', 'Expected `terminations()` to be a list, got `none` (string)'],
    ['no objects', [null], 'Expected `terminations()[0]` to be an object, got null'],
    [
      'without a time',
      [{ podUID: 'uid-a' }],
      'Expected `terminations()[0].since` to be a non-empty string, got undefined',
    ],
    [
      'objects that throw',
      [
        {
          get podUID() {
            return fail();
          },
        },
      ],
      '`terminations()[0]["podUID"]` cannot be read: it throws',
    ],
  ])(
    'a safety provider whose terminations are %s: they are not shown, and the error is logged',
    async (_title, terminations, reason) => {
      const podDeletionSafety = {
        podCouldHaveRunningContainers: () => false,
        terminations: () => terminations as never,
      };
      const h = new SyncHarness({ podDeletionSafety });
      h.addPods('a');
      h.set('a', '1');
      expect(h.manager.inspect().pods.map(({ podUID, termination }) => [podUID, termination])).toEqual([
        ['uid-a', undefined],
      ]);
      expect(h.manager.explain('uid-a')).toBeDefined();
      expect(h.logger.errors[0]?.fields.reason).toBe(reason);
      await h.manager.stop();
    },
  );

  it('a start-up latency helper', async () => {
    const h = new SyncHarness({ podStartupLatency: { recordStatusUpdated: fail, deletePodStartupState: fail } });
    h.addPods('a');
    const pod = h.addPod(podOf('b', { deletionTimestamp: '2026-01-02T03:04:05Z' }));
    h.manager.start();
    h.set('a', '1');
    h.manager.terminatePod(pod);
    await h.settle();
    expect(h.inspect('a').sentVersion).toBe(1);
    // The deleted pod is forgotten all the same.
    expect(h.manager.inspect().pods.map(({ podName }) => podName)).toEqual(['a']);
    await h.manager.stop();
  });

  it('a pod manager, for as long as it does', async () => {
    const h = new SyncHarness({ syncPeriodMs: 1_000 });
    h.addPods('a');
    h.client.fail({ verb: 'get' }, 500);
    h.manager.start();
    h.set('a', '1');
    await h.settle();
    const { getUIDTranslations, translatePodUID } = h.podManager;
    h.podManager.getUIDTranslations = fail;
    h.podManager.translatePodUID = fail;
    // The wake-up, the tick and the end of the back-off all run into it.
    h.set('a', '2');
    await h.clock.advanceAsync(3_000);
    h.podManager.getUIDTranslations = getUIDTranslations;
    h.podManager.translatePodUID = translatePodUID;
    await h.clock.advanceAsync(1_000);
    expect(h.written('a')).toBe('2');
    await h.manager.stop();
  });

  it('a pod manager, which is logged with what the loop was doing', async () => {
    const h = new SyncHarness({ syncPeriodMs: 1_000 });
    h.addPods('a');
    h.client.fail({ verb: 'get' }, 500);
    h.manager.start();
    h.set('a', '1');
    await h.settle();
    h.podManager.getUIDTranslations = fail;
    h.set('a', '2');
    await h.clock.advanceAsync(1_000);
    await h.manager.stop({ drain: true });
    expect(h.logger.errors.map(({ message }) => message)).toEqual([
      'An incremental batch failed',
      'Failed to re-examine pods waiting for a retry',
      'A full batch failed',
      'Failed to drain',
    ]);
    expect(h.logger.errors.map(({ fields }) => fields.reason)).toEqual(Array.from({ length: 4 }, () => 'out of order'));
  });

  it('a pod manager that throws when a sync ends; the tick sends what was set in the meantime', async () => {
    const h = new SyncHarness({ syncPeriodMs: 1_000 });
    h.addPods('a', 'b');
    const release = h.client.hold({ verb: 'patch' }, 1);
    h.manager.start();
    h.set('a', '1');
    await h.settle();
    h.set('a', '2');
    await h.settle();
    const { getUIDTranslations } = h.podManager;
    h.podManager.getUIDTranslations = fail;
    release();
    await h.settle();
    expect(h.logger.errors.map(({ message }) => message)).toEqual(['Failed to examine a pod after its sync']);
    h.podManager.getUIDTranslations = getUIDTranslations;
    await h.clock.advanceAsync(1_000);
    expect(h.written('a')).toBe('2');
    await h.manager.stop();
  });

  it('a pod manager that throws for one pod delays no other pod', async () => {
    const h = new SyncHarness({ syncPeriodMs: 1_000 });
    h.addPods('a', 'b');
    h.set('a', '1');
    h.set('b', '1');
    await h.manager.syncBatch(false);
    h.takeRequests();
    const getPodByUID = h.podManager.getPodByUID.bind(h.podManager);
    h.podManager.getPodByUID = (uid) => (uid === uidOf('a') ? fail() : getPodByUID(uid));
    h.manager.start();
    await h.clock.advanceAsync(1_000);
    expect(h.takeRequests()).toEqual(['get b']);
    await h.manager.stop();
  });

  it.each<[string, unknown]>([
    ['no object', 7],
    ['a pod without metadata', {}],
    [
      'a pod that throws',
      {
        get metadata() {
          return fail();
        },
      },
    ],
    ['a promise', Promise.resolve(undefined)],
  ])('a pod manager that returns %s for a pod delays no other pod', async (_title, returned) => {
    const h = new SyncHarness({ syncPeriodMs: 1_000 });
    h.addPods('a', 'b');
    h.set('a', '1');
    h.set('b', '1');
    const getPodByUID = h.podManager.getPodByUID.bind(h.podManager);
    h.podManager.getPodByUID = (uid) => (uid === uidOf('a') ? (returned as never) : getPodByUID(uid));
    h.manager.start();
    await h.clock.advanceAsync(2_000);
    expect(h.written('b')).toBe('1');
    h.podManager.getPodByUID = getPodByUID;
    await h.clock.advanceAsync(2_000);
    h.set('a', '2');
    await h.clock.advanceAsync(2_000);
    expect(h.written('a')).toBe('2');
    await h.manager.stop();
  });

  it('a client that throws instead of rejecting, or resolves with something that is not a pod', async () => {
    const responses: (() => unknown)[] = [
      fail,
      () => undefined,
      () => 'OK',
      () => ({}),
      () => Promise.reject(new Error()),
      () => Promise.reject(undefined),
    ];
    const h = new SyncHarness({
      client: { getPod: () => responses.shift()!() as never, patchPodStatus: fail, deletePod: fail },
    });
    h.manager.start();
    h.set('a', '1');
    await h.clock.advanceAsync(10_000);
    expect(h.outcomes.map(({ outcome }) => outcome)).toEqual(['retried', 'retried', 'retried', 'retried', 'retried']);
    await h.manager.stop();
  });
});

describe('what is logged of a failure', () => {
  it('is logged as text, never as the object, whose cause may contain a token', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    const secret = new APIError('request failed: ECONNRESET', {
      kind: 'network',
      cause: { headers: { authorization: 'Bearer s3cr3t' } },
    });
    h.client.fail({ verb: 'get' }, secret);
    h.podManager.translatePodUID = () => {
      throw secret;
    };
    h.manager.subscribe({
      onPodUpdated() {
        throw secret;
      },
    });
    h.manager.start();
    h.set('a', '1');
    await h.clock.advanceAsync(20_000);
    const messages = h.logger.lines.map(({ message }) => message);
    expect(messages).toContain('Unexpected error while syncing a pod');
    expect(messages).toContain('A listener threw');
    expect(messages).toContain('Failed to update status for pod');
    for (const { fields } of h.logger.lines) {
      for (const value of Object.values(fields)) expect(typeof value).not.toBe('object');
      expect(JSON.stringify(fields)).not.toContain('s3cr3t');
    }
    await h.manager.stop();
  });
});

describe('setPodStatus from inside a listener (TestSyncPodNoDeadlock)', () => {
  it('is accepted and sent', async () => {
    const h = new SyncHarness();
    h.addPods('a', 'b');
    let isFirst = true;
    h.manager.subscribe({
      onPodUpdated(pod) {
        if (!isFirst) return;
        isFirst = false;
        h.manager.setPodStatus(pod, { message: 'from the listener' });
        h.set('b', 'from the listener');
      },
    });
    h.manager.start();
    h.set('a', '1');
    await h.settle();
    expect([h.written('a'), h.written('b')]).toEqual(['from the listener', 'from the listener']);
    await h.manager.stop();
  });

  it('even from inside onOutcome, which is never called inside a setter', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    let depth = 0;
    let deepest = 0;
    let calls = 0;
    const onOutcome = (): void => {
      depth++;
      deepest = Math.max(deepest, depth);
      if (calls++ < 5) h.set('a', `outcome ${calls}`);
      depth--;
    };
    h.manager.subscribe({ onOutcome });
    h.set('a', '1');
    h.set('a', '2');
    h.manager.removeOrphanedStatuses([]);
    expect(calls).toBe(0);
    h.set('a', '3');
    h.manager.start();
    await h.settle();
    expect(calls).toBeGreaterThan(5);
    expect(deepest).toBe(1);
    expect(h.written('a')).toBe('outcome 5');
    await h.manager.stop();
  });

  it('reaches the diagnostics channel as well', async () => {
    const heard: unknown[] = [];
    const onMessage = (message: unknown): void => void heard.push(message);
    subscribe(outcomeChannelName, onMessage);
    try {
      const h = new SyncHarness();
      h.addPods('a');
      h.set('a', '1');
      await h.manager.syncBatch(false);
      expect(heard).toEqual([
        { podUID: 'uid-a', podNamespace: 'default', podName: 'a', version: 1, outcome: 'written' },
      ]);
    } finally {
      unsubscribe(outcomeChannelName, onMessage);
    }
  });
});
