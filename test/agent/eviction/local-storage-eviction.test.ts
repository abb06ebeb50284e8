import { describe, expect, it } from 'vitest';
import { FakeClock } from 'kubelet-status-manager/testing';
import type { Eviction } from '../../../src/agent/eviction/evict-pod.ts';
import { LocalStorageEviction, localStorageExcess } from '../../../src/agent/eviction/local-storage-eviction.ts';
import type { PodStats } from '../../../src/agent/runtime/pod-stats.ts';
import type { Pod, ValidPod } from '../../../src/kube/types.ts';
import { recordingLogger } from '../../../src/testing/recording-logger.ts';

const Mi = 1024 * 1024;
const limited = (name: string, limit: string): object => ({
  name,
  resources: { limits: { 'ephemeral-storage': limit } },
});

function podWith(spec: object): ValidPod {
  return { metadata: { name: 'web', namespace: 'default', uid: 'u1' }, spec: { containers: [], ...spec } };
}

function statsWith(containers: Record<string, { logs?: number; rootfs?: number }>): PodStats {
  const time = '2026-01-02T03:04:05Z';
  const fs = (usedBytes = 0) => ({ time, usedBytes });
  const total = Object.values(containers).reduce((sum, { logs = 0, rootfs = 0 }) => sum + logs + rootfs, 0);
  return {
    podRef: { name: 'web', namespace: 'default', uid: 'u1' },
    startTime: time,
    containers: Object.entries(containers).map(([name, { logs, rootfs }]) => ({
      name,
      startTime: time,
      logs: fs(logs),
      rootfs: fs(rootfs),
    })),
    'ephemeral-storage': fs(total),
  };
}

describe('TestLocalStorageEviction', () => {
  const volumes = (emptyDir: object): object => ({ volumes: [{ name: 'data', emptyDir }] });
  const data = (bytes: number): ReadonlyMap<string, number> => new Map([['data', bytes]]);

  it.each<[string, Pod, PodStats | undefined, ReadonlyMap<string, number>, string | undefined]>([
    [
      'a volume above its limit',
      podWith(volumes({ sizeLimit: '1Mi' })),
      undefined,
      data(Mi + 1),
      'Usage of EmptyDir volume "data" exceeds the limit "1Mi". ',
    ],
    ['a volume at its limit', podWith(volumes({ sizeLimit: '1Mi' })), undefined, data(Mi), undefined],
    ['a limit of zero', podWith(volumes({ sizeLimit: '0' })), undefined, data(Mi), undefined],
    [
      'a volume in memory',
      podWith(volumes({ medium: 'Memory', sizeLimit: '1Mi' })),
      undefined,
      data(2 * Mi),
      undefined,
    ],
    [
      'the containers and volumes together above the sum of the limits',
      podWith({ containers: [limited('a', '1Mi'), limited('b', '1Mi')], ...volumes({}) }),
      statsWith({ a: { rootfs: Mi }, b: { logs: Mi / 2 } }),
      data(Mi),
      'Pod ephemeral local storage usage exceeds the total limit of containers 2Mi. ',
    ],
    [
      'one container above its limit, with its log and its writable layer',
      podWith({ containers: [limited('a', '1Mi'), limited('b', '9Mi')] }),
      statsWith({ a: { logs: Mi / 2, rootfs: Mi } }),
      new Map(),
      'Container a exceeded its local ephemeral storage limit "1Mi". ',
    ],
    [
      'a sidecar above its limit',
      podWith({
        containers: [limited('a', '9Mi')],
        initContainers: [{ ...limited('s', '1Mi'), restartPolicy: 'Always' }],
      }),
      statsWith({ s: { rootfs: 2 * Mi } }),
      new Map(),
      'Container s exceeded its local ephemeral storage limit "1Mi". ',
    ],
    ['a container without statistics', podWith({ containers: [limited('a', '1Mi')] }), undefined, new Map(), undefined],
  ])('%s', (_, pod, stats, volumeBytes, message) => {
    expect(localStorageExcess(pod, stats, volumeBytes)).toBe(message);
  });
});

describe('eviction by local storage', () => {
  function start(pods: readonly ValidPod[], evict: (pod: ValidPod, eviction: Eviction) => Promise<unknown>) {
    const clock = new FakeClock('2026-01-02T03:04:05Z');
    const logger = recordingLogger();
    let fails = false;
    let calls = 0;
    const eviction = new LocalStorageEviction({
      ...{ clock, logger, evict },
      getActivePods: () => pods,
      emptyDirUsage: undefined,
      runtime: {
        listPodStats: () => {
          calls += 1;
          return fails
            ? Promise.reject(new Error('no runtime'))
            : Promise.resolve([statsWith({ a: { rootfs: 2 * Mi } })]);
        },
      },
    });
    eviction.start();
    return { clock, logger, eviction, calls: () => calls, fail: (value: boolean) => (fails = value) };
  }

  it('a pod above its limit is evicted after 10 s with a grace period of 1 s, and once', async () => {
    const evictions: unknown[] = [];
    let hasEnded = (): void => {};
    const { clock, eviction } = start([podWith({ containers: [limited('a', '1Mi')] })], ({ metadata }, how) => {
      evictions.push([metadata.name, how]);
      return new Promise<void>((resolve) => (hasEnded = resolve));
    });
    await clock.advanceAsync(9_999);
    expect(evictions).toEqual([]);
    await clock.advanceAsync(20_001);
    const message = 'Pod ephemeral local storage usage exceeds the total limit of containers 1Mi. ';
    expect(evictions).toEqual([['web', { message, gracePeriodSeconds: 1 }]]);
    hasEnded();
    await eviction.stop();
    expect(clock.pendingTimers).toBe(0);
  });

  it('without a limit the runtime is not asked; its failures are logged once, and then its recovery', async () => {
    const none = start([podWith({ containers: [{ name: 'a' }] })], () => Promise.resolve());
    await none.clock.advanceAsync(60_000);
    expect(none.calls()).toBe(0);
    await none.eviction.stop();

    const broken = start([podWith({ containers: [limited('a', '9Mi')] })], () => Promise.resolve());
    broken.fail(true);
    await broken.clock.advanceAsync(30_000);
    broken.fail(false);
    await broken.clock.advanceAsync(10_000);
    await broken.eviction.stop();
    expect(broken.logger.warnings).toMatchObject([
      { message: 'Measuring the local storage of pods failed' },
      { message: 'Measuring the local storage of pods succeeded again' },
    ]);
  });

  it('an eviction that fails is logged and tried again', async () => {
    let tries = 0;
    const { clock, logger, eviction } = start([podWith({ containers: [limited('a', '1Mi')] })], () => {
      tries += 1;
      return Promise.reject(new Error('still running'));
    });
    await clock.advanceAsync(20_000);
    await eviction.stop();
    expect(tries).toBe(2);
    expect(logger.lines).toMatchObject([
      { level: 'error', message: 'Failed to evict a pod', fields: { reason: 'still running' } },
      { level: 'error' },
    ]);
  });
});
