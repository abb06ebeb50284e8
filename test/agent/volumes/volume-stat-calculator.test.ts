import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { KubeObject } from '../../../src/kube/objects/kube-object.ts';
import type { ValidPod } from 'kubelet-status-manager';
import { FakeClock, recordingLogger, settle } from 'kubelet-status-manager/testing';
import { HostDirectory } from '../../../src/node/host-paths/host-directory.ts';
import { VolumeStatCalculator } from '../../../src/agent/volumes/volume-stat-calculator.ts';
import { TestDirectories } from '../../support/directories.ts';
import { podScope } from '../../support/pod-scope.ts';
import type { PodScope } from '../../../src/node/pod-scope.ts';
import { linesAtInfo } from '../../support/log-lines.ts';
import { systemFiles } from '../../../src/node/host-paths/host-files.ts';

const directories = new TestDirectories();
let rootDirectory: string;
let clock: FakeClock;
let logger: ReturnType<typeof recordingLogger>;
let calculator: VolumeStatCalculator;
let scope: PodScope;
beforeEach(() => {
  rootDirectory = directories.create();
  clock = new FakeClock('2026-01-02T03:04:05Z');
  logger = recordingLogger();
  calculator = new VolumeStatCalculator({ files: systemFiles, rootDirectory, clock, logger });
  scope = podScope();
});
afterEach(() => {
  vi.restoreAllMocks();
  directories.removeAll();
});

function podWith(...volumes: readonly Partial<KubeObject<'Volume'>>[]): ValidPod {
  return {
    metadata: { name: 'web', namespace: 'default', uid: 'u1' },
    spec: { containers: [], volumes: volumes as readonly KubeObject<'Volume'>[] },
  };
}
function write(path: string, bytes: number): void {
  const file = join(rootDirectory, 'pods', 'u1', path);
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, Buffer.alloc(bytes, 1));
}
const data = { name: 'data', emptyDir: {} };
const dataFile = 'volumes/kubernetes.io~empty-dir/data/file';

/** Makes the next listing of a folder wait; returns what lets it go on. */
function holdListing(): () => void {
  const { entries } = HostDirectory.prototype;
  let release = (): void => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  vi.spyOn(HostDirectory.prototype, 'entries').mockImplementation(async function* (this: HostDirectory) {
    await held;
    yield* entries.call(this);
  });
  return release;
}

describe('the stats of volumes are', () => {
  it('those of emptyDir volumes on the disk, of ConfigMaps and of /etc/hosts', async () => {
    write(dataFile, 100_000);
    write('volumes/kubernetes.io~empty-dir/memory/file', 100_000);
    write('volumes/kubernetes.io~configmap/config/key', 5000);
    write('etc-hosts', 20_000);
    const stats = await calculator.getLatest(
      podWith(
        data,
        { name: 'memory', emptyDir: { medium: 'Memory' } },
        { name: 'config', configMap: { name: 'c' } },
        { name: 'secret', secret: { secretName: 's' } },
        { name: 'host', hostPath: { path: '/' } },
        { name: 'unknown', nfs: { server: 's', path: '/' } },
      ),
      scope,
    );
    expect(stats?.time).toBe('2026-01-02T03:04:05Z');
    expect([...stats!.volumes.keys()]).toEqual(['data', 'config']);
    expect(stats?.volumes.get('data')?.bytes).toBeGreaterThanOrEqual(100_000);
    expect(stats?.volumes.get('data')?.inodes).toBe(2);
    expect(stats?.volumes.get('config')?.bytes).toBeGreaterThanOrEqual(5000);
    expect(stats?.etcHosts?.bytes).toBeGreaterThanOrEqual(20_000);
    expect(stats?.etcHosts?.inodes).toBe(1);
  });

  it('zero for what is not there', async () => {
    const none = { bytes: 0, inodes: 0 };
    const stats = await calculator.getLatest(podWith(data), scope);
    expect(stats).toEqual({ time: '2026-01-02T03:04:05Z', volumes: new Map([['data', none]]), etcHosts: none });
  });
});

describe('a measurement that takes long', () => {
  it('delays nobody for more than a second; then the stats before it count, with their time', async () => {
    write(dataFile, 1000);
    const first = await calculator.getLatest(podWith(data), scope);
    write('volumes/kubernetes.io~empty-dir/data/other', 1000);
    const release = holdListing();
    clock.advance(60_000);
    const late = calculator.getLatest(podWith(data), scope);
    await settle();
    clock.advance(1000);
    expect(await late).toEqual(first);
    release();
    const next = await calculator.getLatest(podWith(data), scope);
    expect(next?.time).toBe('2026-01-02T03:05:05Z');
    expect(next?.volumes.get('data')?.inodes).toBe(3);
  });

  it('gives no stats while it is the first one', async () => {
    write(dataFile, 1000);
    const release = holdListing();
    const first = calculator.getLatest(podWith(data), scope);
    await settle();
    clock.advance(1000);
    expect(await first).toBeUndefined();
    release();
    expect(await calculator.getLatest(podWith(data), scope)).toBeDefined();
  });

  it('delays nobody who has been stopped', async () => {
    write(dataFile, 1000);
    const release = holdListing();
    const stop = new AbortController();
    const stats = calculator.getLatest(podWith(data), scope, stop.signal);
    await settle();
    stop.abort();
    expect(await stats).toBeUndefined();
    release();
  });

  it('is repeated only after nine times as long', async () => {
    write(dataFile, 1000);
    const release = holdListing();
    const first = calculator.getLatest(podWith(data), scope);
    await settle();
    clock.advance(1000);
    await first;
    clock.advance(9000);
    release();
    const { time } = (await calculator.getLatest(podWith(data), scope))!;
    clock.advance(89_999);
    expect((await calculator.getLatest(podWith(data), scope))?.time).toBe(time);
    clock.advance(1);
    expect((await calculator.getLatest(podWith(data), scope))?.time).not.toBe(time);
  });
});

describe('a measurement that fails', () => {
  it('is logged once, with the pod, and the stats before it stay', async () => {
    write(dataFile, 1000);
    const first = await calculator.getLatest(podWith(data), scope);
    vi.spyOn(HostDirectory.prototype, 'stats').mockRejectedValue(new Error('EIO: i/o error'));
    clock.advance(1000);
    expect(await calculator.getLatest(podWith(data), scope)).toEqual(first);
    expect(await calculator.getLatest(podWith(data), scope)).toEqual(first);
    expect(linesAtInfo(logger)).toMatchObject([
      {
        message: 'Measuring the volumes of pods failed',
        fields: { reason: 'EIO: i/o error', podUID: 'u1' },
      },
    ]);
    vi.restoreAllMocks();
    expect((await calculator.getLatest(podWith(data), scope))?.time).toBe('2026-01-02T03:04:06Z');
    expect(linesAtInfo(logger).map(({ message }) => message)).toEqual([
      'Measuring the volumes of pods failed',
      'Measuring the volumes of pods succeeded again',
    ]);
  });
});

it('a pod that comes again has no stats of its earlier life', async () => {
  const { time } = (await calculator.getLatest(podWith(data), scope))!;
  const release = holdListing();
  clock.advance(1000);
  scope = podScope();
  write(dataFile, 1);
  const stats = calculator.getLatest(podWith(data), scope);
  await settle();
  clock.advance(1000);
  expect(await stats).toBeUndefined();
  expect(time).toBe('2026-01-02T03:04:05Z');
  release();
});
