import { describe, expect, it } from 'vitest';
import type { ValidPod } from 'kubelet-status-manager';
import {
  ephemeralStorageBytes,
  podInodes,
  podStorageBytes,
  type PodUsage,
} from '../../../src/agent/eviction/pod-usage.ts';
import { rankPods, storageParts } from '../../../src/agent/eviction/rank-pods.ts';
import type { StarvedResource } from '../../../src/agent/eviction/thresholds.ts';

const podRef = { name: '', namespace: '', uid: '' };
const usage: PodUsage = {
  stats: {
    ...{ podRef, startTime: '' },
    containers: [
      {
        ...{ name: 'a', startTime: '' },
        rootfs: { time: '', usedBytes: 1, inodesUsed: 100 },
        logs: { time: '', usedBytes: 10, inodesUsed: 1000 },
      },
      { name: 'b', startTime: '', rootfs: { time: '' } },
    ],
  },
  volumeStats: {
    time: '',
    volumes: new Map([
      ['data', { bytes: 20, inodes: 2000 }],
      ['more', { bytes: 80, inodes: 8000 }],
    ]),
    etcHosts: { bytes: 1000, inodes: 1 },
  },
};
const none: PodUsage = { stats: undefined, volumeStats: undefined };

describe('the usage of a pod', () => {
  it.each([
    [['rootfs'], 1, 100],
    [['logs', 'volumes'], 110, 11_000],
    [['rootfs', 'logs', 'volumes'], 111, 11_100],
  ] as const)('on the file system of %s', (parts, bytes, inodes) => {
    expect(podStorageBytes(usage, parts)).toBe(bytes);
    expect(podInodes(usage, parts)).toBe(inodes);
    expect(podStorageBytes(none, parts) + podInodes(none, parts)).toBe(0);
  });

  it('counts towards its limit with /etc/hosts', () => {
    expect(ephemeralStorageBytes(usage)).toBe(1111);
    expect(ephemeralStorageBytes(none)).toBe(0);
  });
});

describe('TestBuildSignalToRankFunc: storageParts', () => {
  it.each([
    ['nodefs.available', false, ['rootfs', 'logs', 'volumes']],
    ['imagefs.available', false, ['rootfs', 'logs', 'volumes']],
    ['nodefs.inodesFree', true, ['logs', 'volumes']],
    ['imagefs.inodesFree', true, ['rootfs']],
  ] as const)('%s, with a file system of images: %s', (signal, isDedicated, parts) => {
    expect(storageParts(signal, isDedicated)).toEqual(parts);
  });
});

interface Ranked {
  readonly name: string;
  readonly used?: number;
  readonly requests?: Record<string, string>;
  readonly priority?: number;
}
describe('rankPods', () => {
  function ranked(resource: StarvedResource, ...list: readonly Ranked[]): string[] {
    const pods = list.map(({ name, requests, priority }): ValidPod => ({
      metadata: { name, namespace: 'ns', uid: name },
      spec: {
        containers: [{ name: 'app', resources: { requests: requests ?? {} } }],
        ...(priority !== undefined && { priority }),
      },
    }));
    const usages = new Map<string, PodUsage>();
    for (const { name, used } of list) {
      if (used === undefined) continue;
      const fs = { time: '', usedBytes: used, inodesUsed: used };
      const containers = [{ name: 'app', startTime: '', rootfs: fs }];
      const memory = { time: '', workingSetBytes: used };
      const stats = { podRef, startTime: '', containers, memory, process_stats: { process_count: used } };
      usages.set(name, { stats, volumeStats: undefined });
    }
    const measure = { resource, parts: ['rootfs'] as const };
    return rankPods(pods, ({ metadata }) => usages.get(metadata.uid), measure).map(({ metadata }) => metadata.name);
  }

  it.each<[StarvedResource, Record<string, string>]>([
    ['memory', { memory: '50' }],
    ['ephemeral-storage', { 'ephemeral-storage': '50' }],
  ])('%s: who exceeds its requests, then the lowest priority, then the largest excess', (resource, requests) => {
    const order = ranked(
      resource,
      { name: 'within', used: 50, requests },
      { name: 'important', used: 90, requests, priority: 1 },
      { name: 'less above', used: 60, requests },
      { name: 'more above', used: 70, requests, priority: 0 },
      { name: 'without requests', used: 1, priority: -1 },
    );
    expect(order).toEqual(['without requests', 'more above', 'less above', 'important', 'within']);
  });

  it('a pod of unknown usage comes before others of its priority, and two of them stay in order', () => {
    const order = ranked('memory', { name: 'used', used: 9 }, { name: 'unknown' }, { name: 'unknown, too' });
    expect(order).toEqual(['unknown', 'unknown, too', 'used']);
  });

  it('inodes: the most', () => {
    expect(ranked('inodes', { name: 'few', used: 1 }, { name: 'many', used: 2 })).toEqual(['many', 'few']);
  });

  it('pids: by priority first, whatever is requested, then the most processes', () => {
    const requests = { pids: '1' };
    const order = ranked(
      'pids',
      { name: 'important', used: 99, priority: 1, requests },
      { name: 'few', used: 1 },
      { name: 'many', used: 2 },
    );
    expect(order).toEqual(['many', 'few', 'important']);
  });
});
