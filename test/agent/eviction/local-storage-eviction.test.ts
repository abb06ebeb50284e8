import { describe, expect, it } from 'vitest';
import { hasLocalStorageLimit, localStorageExcess } from '../../../src/agent/eviction/local-storage-eviction.ts';
import type { PodStats } from '../../../src/node/runtime/pod-stats.ts';
import type { PodVolumeStats } from '../../../src/agent/volumes/volume-manager.ts';
import type { Pod, ValidPod } from '../../../src/kube/objects/types.ts';

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
  const data = (bytes: number): PodVolumeStats => ({ time: '', volumes: new Map([['data', { bytes, inodes: 1 }]]) });

  it.each<[string, Pod, PodStats | undefined, PodVolumeStats | undefined, string | undefined, string?]>([
    [
      'a volume above its limit',
      podWith(volumes({ sizeLimit: '1Mi' })),
      undefined,
      data(Mi + 1),
      'Usage of EmptyDir volume "data" exceeds the limit "1Mi". ',
      'emptydirfs.limit',
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
      'ephemeralpodfs.limit',
    ],
    [
      'the containers and volumes together at the sum of the limits',
      podWith({ containers: [limited('a', '1Mi'), limited('b', '1Mi')], ...volumes({}) }),
      statsWith({ a: { rootfs: Mi / 2 }, b: { logs: Mi / 2 } }),
      data(Mi),
      undefined,
    ],
    [
      'one container above its limit, with its log and its writable layer',
      podWith({ containers: [limited('a', '1Mi'), limited('b', '9Mi')] }),
      statsWith({ a: { logs: Mi / 2, rootfs: Mi } }),
      undefined,
      'Container a exceeded its local ephemeral storage limit "1Mi". ',
      'ephemeralcontainerfs.limit',
    ],
    [
      'a sidecar above its limit',
      podWith({
        containers: [limited('a', '9Mi')],
        initContainers: [{ ...limited('s', '1Mi'), restartPolicy: 'Always' }],
      }),
      statsWith({ s: { rootfs: 2 * Mi } }),
      undefined,
      'Container s exceeded its local ephemeral storage limit "1Mi". ',
    ],
    [
      'the second container above its limit',
      podWith({ containers: [limited('a', '9Mi'), limited('b', '1Mi')] }),
      statsWith({ a: { logs: 1 }, b: { logs: Mi + 1 } }),
      undefined,
      'Container b exceeded its local ephemeral storage limit "1Mi". ',
    ],
    [
      'a volume that is not measured yet',
      podWith(volumes({ sizeLimit: '1Mi' })),
      undefined,
      { time: '', volumes: new Map() },
      undefined,
    ],
    ['volumes that are not measured', podWith(volumes({ sizeLimit: '1Mi' })), undefined, undefined, undefined],
    [
      'a container at its limit',
      podWith({ containers: [limited('a', '1Mi'), limited('b', '9Mi')] }),
      statsWith({ a: { logs: Mi / 2, rootfs: Mi / 2 } }),
      undefined,
      undefined,
    ],
    ['a container without statistics', podWith({ containers: [limited('a', '1Mi')] }), undefined, undefined, undefined],
  ])('%s', (_, pod, stats, volumeStats, message, signal) => {
    const excess = localStorageExcess(pod, { stats, volumeStats }, false);
    expect(excess?.message).toBe(message);
    if (signal !== undefined) expect(excess?.signal).toBe(signal);
  });
});

it('the writable layer of a container on another file system does not count', () => {
  const pod = podWith({ containers: [limited('a', '1Mi'), limited('b', '9Mi')] });
  const usage = { stats: statsWith({ a: { rootfs: 2 * Mi } }), volumeStats: undefined };
  expect(localStorageExcess(pod, usage, true)).toBeUndefined();
  expect(localStorageExcess(pod, usage, false)?.message).toMatch(/^Container a/);
});

describe('only pods that can exceed a limit are measured', () => {
  const withVolume = (emptyDir: object) => podWith({ volumes: [{ name: 'data', emptyDir }] });
  it.each<[string, Pod, boolean]>([
    ['no limit', podWith({ containers: [{ name: 'a' }] }), false],
    ['no containers', { spec: {} }, false],
    [
      'a limit of another resource',
      podWith({ containers: [{ name: 'a', resources: { limits: { cpu: '1' } } }] }),
      false,
    ],
    ['a limit of a container', podWith({ containers: [{ name: 'a' }, limited('b', '1Mi')] }), true],
    ['a limit of zero', podWith({ containers: [limited('a', '0')] }), false],
    ['a limit of a sidecar', podWith({ initContainers: [{ ...limited('s', '1Mi'), restartPolicy: 'Always' }] }), true],
    ['a limit of an init container, which ends', podWith({ initContainers: [limited('i', '1Mi')] }), false],
    ['a limit of a volume', withVolume({ sizeLimit: '1Mi' }), true],
    ['a volume without limit', withVolume({}), false],
    ['a volume with a limit of zero', withVolume({ sizeLimit: '0' }), false],
    ['a volume with a limit in memory', withVolume({ medium: 'Memory', sizeLimit: '1Mi' }), false],
    ['a volume that is no emptyDir', podWith({ volumes: [{ name: 'data', hostPath: { path: '/data' } }] }), false],
  ])('%s', (_, pod, isMeasured) => expect(hasLocalStorageLimit(pod)).toBe(isMeasured));
});
