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
      // Of the other resources, the pod uses the less.
      const amount = (of: StarvedResource): number => (of === resource ? used : 1000 - used);
      const fs = { time: '', usedBytes: amount('ephemeral-storage'), inodesUsed: amount('inodes') };
      const containers = [{ name: 'app', startTime: '', rootfs: fs }];
      const memory = { time: '', workingSetBytes: amount('memory') };
      const stats = { podRef, startTime: '', containers, memory, process_stats: { process_count: amount('pids') } };
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

  it('the excess is the usage above the requests', () => {
    const order = ranked(
      'memory',
      { name: 'uses more', used: 100, requests: { memory: '90' } },
      { name: 'requests less', used: 60, requests: { memory: '10' } },
    );
    expect(order).toEqual(['requests less', 'uses more']);
  });

  it('a pod whose stats lack the resource has an unknown usage of memory, and no processes', () => {
    const pods = ['used', 'unknown'].map((name): ValidPod => ({ metadata: { name, namespace: 'ns', uid: name } }));
    const stats = { podRef, startTime: '', containers: [] };
    const used = { ...stats, memory: { time: '', workingSetBytes: 1 }, process_stats: { process_count: 1 } };
    const orderOf = (resource: StarvedResource): string[] =>
      [{ ...stats, memory: { time: '' }, process_stats: {} }, stats, undefined].map((unknown) => {
        const usageOf = ({ metadata }: ValidPod): PodUsage => ({
          stats: metadata.name === 'used' ? used : unknown,
          volumeStats: undefined,
        });
        return rankPods(pods, usageOf, { resource, parts: [] })[0]!.metadata.name;
      });
    expect(orderOf('memory')).toEqual(['unknown', 'unknown', 'unknown']);
    expect(orderOf('pids')).toEqual(['used', 'used', 'used']);
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
      { name: 'few', used: 1, requests: { pids: '5' } },
      { name: 'many', used: 7, requests: { pids: '5' } },
    );
    expect(order).toEqual(['many', 'few', 'important']);
  });
});
