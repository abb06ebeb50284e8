import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ValidPod } from 'kubelet-status-manager';
import { FakeClock, recordingLogger, settle } from 'kubelet-status-manager/testing';
import type { ObjectReader } from '../../../src/agent/container-options/object-reader.ts';
import { PodVolumes } from '../../../src/agent/volumes/pod-volumes.ts';
import { TestDirectories } from '../../support/directories.ts';
import { nestDirectories } from '../../support/nested-directories.ts';

const directories = new TestDirectories();
let rootDirectory: string;
let clock: FakeClock;
let logger: ReturnType<typeof recordingLogger>;
let events: { readonly reason: string; readonly message: string; readonly type: string }[];
let configMap: { readonly data: Record<string, string> } | Error | undefined;
beforeEach(() => {
  rootDirectory = directories.create();
  clock = new FakeClock('2026-01-02T03:04:05Z');
  logger = recordingLogger();
  [events, configMap] = [[], undefined];
});
afterEach(() => directories.removeAll());

async function getConfigMap(): Promise<unknown> {
  if (configMap instanceof Error) throw configMap;
  return configMap;
}
function newVolumes(options: object = {}): PodVolumes {
  return new PodVolumes({
    ...{ rootDirectory, mounts: false, allocatable: { memory: '1Gi' }, clock, logger },
    objects: { getConfigMap, getSecret: async () => ({ data: { key: 'c2VjcmV0' } }) } as unknown as ObjectReader,
    eventRecorder: { event: (event) => void events.push(event) },
    ...options,
  });
}
const podWith = (...volumes: readonly object[]): ValidPod => ({
  metadata: { name: 'web', namespace: 'default', uid: 'u1' },
  spec: { containers: [], volumes },
});
const folder = (...names: readonly string[]): string => join(rootDirectory, 'pods', 'u1', ...names);
const dataFolder = (): string => folder('volumes', 'kubernetes.io~empty-dir', 'data');
const data = podWith({ name: 'data', emptyDir: {} });
const config = podWith({ name: 'config', configMap: { name: 'c' } });
const configFile = (): string => folder('volumes', 'kubernetes.io~configmap', 'config', 'key');

describe('before the containers of a pod start', () => {
  it('its folders exist, which only this user can open, and an emptyDir that everybody can write', async () => {
    await newVolumes().waitForAttachAndMount(data, {});
    expect(readdirSync(folder()).toSorted()).toEqual(['plugins', 'volumes']);
    expect(statSync(folder()).mode & 0o777).toBe(0o700);
    expect(statSync(folder('volumes')).mode & 0o777).toBe(0o700);
    expect(statSync(dataFolder()).mode & 0o777).toBe(0o777);
    expect(readdirSync(folder('plugins', 'kubernetes.io~empty-dir', 'data'))).toEqual(['ready']);
  });

  it('an emptyDir is set up once: what the containers have changed stays, also after a restart of the agent', async () => {
    const volumes = newVolumes();
    await volumes.waitForAttachAndMount(data, {});
    writeFileSync(join(dataFolder(), 'file'), 'kept');
    for (const each of [volumes, newVolumes()]) await each.waitForAttachAndMount(data, {});
    expect(readFileSync(join(dataFolder(), 'file'), 'utf8')).toBe('kept');
  });

  it('volumes of ConfigMaps and Secrets have their files, and are updated with them', async () => {
    configMap = { data: { key: 'old' } };
    const volumes = newVolumes();
    const pod = podWith({ name: 'config', configMap: { name: 'c' } }, { name: 'keys', secret: { secretName: 's' } });
    await volumes.waitForAttachAndMount(pod, {});
    expect(readFileSync(configFile(), 'utf8')).toBe('old');
    expect(readFileSync(folder('volumes', 'kubernetes.io~secret', 'keys', 'key'), 'utf8')).toBe('secret');
    configMap = { data: { key: 'new' } };
    await volumes.waitForAttachAndMount(pod, {});
    expect(readFileSync(configFile(), 'utf8')).toBe('new');
  });

  it('a hostPath has the type that the pod asks for', async () => {
    const path = join(rootDirectory, 'host', 'made');
    await newVolumes().waitForAttachAndMount(
      podWith({ name: 'host', hostPath: { path, type: 'DirectoryOrCreate' } }),
      {},
    );
    expect(statSync(path).isDirectory()).toBe(true);
  });

  it('read-only volumes have the folders of other mounts inside them', async () => {
    configMap = { data: {} };
    const volumeMounts = [
      { name: 'config', mountPath: '/config' },
      { name: 'data', mountPath: '/config/nested' },
    ];
    const pod = { ...config, spec: { ...config.spec, containers: [{ name: 'app', volumeMounts }] } };
    await newVolumes().waitForAttachAndMount(pod, {});
    expect(statSync(join(configFile(), '..', 'nested')).isDirectory()).toBe(true);
  });
});

describe('a volume that cannot be set up', () => {
  it('is an Event and a warning at each attempt, after half a second, one, two, …, and then is used', async () => {
    const mounted = newVolumes().waitForAttachAndMount(config, {});
    const message = 'MountVolume.SetUp failed for volume "config" : configmap "c" not found';
    for (const [attempts, ms] of [
      [1, 500],
      [2, 1000],
      [3, 2000],
    ] as const) {
      await expect.poll(() => events.length).toBe(attempts);
      await settle();
      clock.advance(ms - 1);
      await settle();
      expect(events).toHaveLength(attempts);
      if (attempts === 3) configMap = { data: { key: 'there' } };
      clock.advance(1);
    }
    await mounted;
    expect(readFileSync(configFile(), 'utf8')).toBe('there');
    expect(events).toMatchObject(
      Array.from({ length: 3 }, () => ({ type: 'Warning', reason: 'FailedMount', message })),
    );
    expect(logger.warnings[0]).toMatchObject({
      message: 'Failed to set up a volume',
      fields: { podUID: 'u1', volume: 'config', reason: message },
    });
  });

  it('delays no container if it was set up before: the old files stay', async () => {
    configMap = { data: { key: 'old' } };
    const volumes = newVolumes();
    await volumes.waitForAttachAndMount(config, {});
    configMap = new Error('no API server');
    await volumes.waitForAttachAndMount(config, {});
    expect(readFileSync(configFile(), 'utf8')).toBe('old');
    expect(events).toHaveLength(1);
  });

  it('delays the containers of a pod that was ended and has come again', async () => {
    configMap = { data: { key: 'old' } };
    const volumes = newVolumes();
    await volumes.waitForAttachAndMount(config, {});
    await volumes.waitForUnmount(config, {});
    configMap = new Error('no API server');
    const abort = new AbortController();
    const mounted = volumes.waitForAttachAndMount(config, { signal: abort.signal });
    await expect.poll(() => events.length).toBe(1);
    abort.abort(new Error('ended'));
    await expect(mounted).rejects.toThrow('ended');
  });
});

describe('after the containers of a pod have ended', () => {
  it('its volumes are removed, at any depth, and its other files stay', async () => {
    const volumes = newVolumes();
    await volumes.waitForAttachAndMount(data, {});
    nestDirectories(dataFolder(), 'n'.repeat(200), 30);
    mkdirSync(folder('volume-subpaths', 'data', 'app', '0'), { recursive: true });
    writeFileSync(folder('etc-hosts'), '');
    await volumes.waitForUnmount(data, {});
    expect(readdirSync(folder())).toEqual(['etc-hosts']);
    await volumes.waitForUnmount(podWith(), {});
  });

  it('what its links lead to stays', async () => {
    const volumes = newVolumes();
    await volumes.waitForAttachAndMount(data, {});
    const precious = join(rootDirectory, 'precious');
    mkdirSync(precious);
    writeFileSync(join(precious, 'file'), '');
    symlinkSync(precious, join(dataFolder(), 'link'));
    await volumes.waitForUnmount(data, {});
    expect(readdirSync(precious)).toEqual(['file']);
  });

  it('its stats are measured anew', async () => {
    const volumes = newVolumes();
    await volumes.waitForAttachAndMount(data, {});
    writeFileSync(join(dataFolder(), 'file'), '');
    expect((await volumes.getPodVolumeStats(data))?.volumes.get('data')?.inodes).toBe(2);
  });
});

describe('a folder of an orphaned pod that cannot be removed', () => {
  it('is logged once, the others are removed, and the end of it is logged', async () => {
    for (const uid of ['a', 'b']) mkdirSync(join(rootDirectory, 'pods', uid), { recursive: true });
    const volumes = newVolumes();
    const abort = AbortSignal.abort(new Error('stopping'));
    await expect(volumes.cleanupOrphanedPodDirs(new Set(), { signal: abort })).rejects.toThrow('stopping');
    expect(readdirSync(join(rootDirectory, 'pods')).toSorted()).toEqual(['a', 'b']);
    await volumes.cleanupOrphanedPodDirs(new Set(['b']), {});
    expect(readdirSync(join(rootDirectory, 'pods'))).toEqual(['b']);
    expect(logger.lines).toMatchObject([{ message: 'Removed the folder of an orphaned pod', fields: { podUID: 'a' } }]);
  });
});

const isRoot = process.getuid?.() === 0;

describe.runIf(isRoot && process.platform === 'linux')('as root', () => {
  it('volumes belong to the fsGroup, which may write what is not read-only', async () => {
    configMap = { data: { key: 'x' } };
    const pod = podWith({ name: 'config', configMap: { name: 'c' } }, { name: 'data', emptyDir: {} });
    const grouped = { ...pod, spec: { ...pod.spec, securityContext: { fsGroup: 1234 } } };
    await newVolumes({ mounts: true }).waitForAttachAndMount(grouped, {});
    expect(statSync(folder()).mode & 0o777).toBe(0o750);
    expect(statSync(dataFolder()).gid).toBe(1234);
    expect(statSync(dataFolder()).mode & 0o7777).toBe(0o2777);
    expect(statSync(configFile()).gid).toBe(1234);
    expect(statSync(configFile()).uid).toBe(0);
    expect(statSync(configFile()).mode & 0o7777).toBe(0o644);
  });
});
