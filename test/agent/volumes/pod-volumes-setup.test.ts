import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { KubeObject } from '../../../src/kube/objects/kube-object.ts';
import type { ValidPod } from 'kubelet-status-manager';
import { FakeClock, recordingLogger, settle } from 'kubelet-status-manager/testing';
import type { ObjectReader } from '../../../src/node/container-options/api-object-reader.ts';
import { HostDirectory } from '../../../src/node/host-paths/host-directory.ts';
import { untilAborted } from '../../../src/shared/abort.ts';
import { unmountAll } from '../../../src/node/host-paths/mounts.ts';
import { PodVolumes } from '../../../src/agent/volumes/pod-volumes.ts';
import { TestDirectories } from '../../support/directories.ts';
import { nestDirectories } from '../../support/nested-directories.ts';
import { podScopes } from '../../support/pod-scope.ts';
import { goodNews } from '../../support/log-lines.ts';
import { type HostFiles, systemFiles } from '../../../src/node/host-paths/host-files.ts';

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
afterEach(async () => {
  vi.restoreAllMocks();
  await (isRoot ? unmountAll(systemFiles, rootDirectory) : Promise.resolve()).finally(() => directories.removeAll());
});
const isRoot = process.getuid?.() === 0 && process.platform === 'linux';

/** Makes the next listing of a folder wait; returns what lets it go on. */
function holdListing(): () => void {
  const { entries } = HostDirectory.prototype;
  let release = (): void => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  vi.spyOn(HostDirectory.prototype, 'entries').mockImplementation(async function* (this: HostDirectory) {
    await held;
    yield* entries.call(this);
  });
  return release;
}

async function getConfigMap(): Promise<unknown> {
  if (configMap instanceof Error) throw configMap;
  return configMap;
}
function newVolumes(options: object = {}): PodVolumes {
  return new PodVolumes({
    files: systemFiles,
    ...{ scopes: podScopes(clock), rootDirectory, mounts: false, allocatable: { memory: '1Gi' }, clock, logger },
    objects: { getConfigMap, getSecret: async () => ({ data: { key: 'c2VjcmV0' } }) } as unknown as ObjectReader,
    eventRecorder: { event: (event) => void events.push(event) },
    ...options,
  });
}
const podWith = (...volumes: readonly Partial<KubeObject<'Volume'>>[]): ValidPod => ({
  metadata: { name: 'web', namespace: 'default', uid: 'u1' },
  spec: { containers: [], volumes: volumes as readonly KubeObject<'Volume'>[] },
});
const folder = (...names: readonly string[]): string => join(rootDirectory, 'pods', 'u1', ...names);
const dataFolder = (): string => folder('volumes', 'kubernetes.io~empty-dir', 'data');
const data = podWith({ name: 'data', emptyDir: {} });
const config = podWith({ name: 'config', configMap: { name: 'c' } });
const configFile = (): string => folder('volumes', 'kubernetes.io~configmap', 'config', 'key');

it('work that the disk holds up beyond the end of its pod makes nothing in the folder of the pod any more', async () => {
  let opened = 0;
  let release = (): void => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  const made: string[] = [];
  const files: HostFiles = {
    ...systemFiles,
    open: async (path, ...options) => {
      // For the folder of the pod, for whether the volume is ready, and for its own folder.
      if (path === rootDirectory && ++opened === 3) await held;
      return systemFiles.open(path, ...options);
    },
    mkdir: (path, options) => {
      made.push(String(path));
      return systemFiles.mkdir(path, options);
    },
  };
  const volumes = newVolumes({ files });
  const mounted = Promise.allSettled([volumes.waitForAttachAndMount(data, {})]);
  await vi.waitFor(() => expect(opened).toBe(3));
  const unmounted = volumes.waitForUnmount(data, {});
  expect(await mounted).toMatchObject([{ reason: { message: 'the pod has ended on this node' } }]);
  await clock.advanceAsync(10_000);
  await unmounted;
  made.length = 0;
  release();
  await volumes.cleanupOrphanedPodDirs(new Set(), {});
  expect(made).toEqual([]);
});

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

describe('a volume', () => {
  it("of an image is the runtime's, and a hostPath stays where it is: neither has a folder", async () => {
    const image = { name: 'tools', image: { reference: 'tools:1' } };
    const host = { name: 'host', hostPath: { path: join(rootDirectory, 'anywhere') } };
    await newVolumes().waitForAttachAndMount(podWith(image, host), {});
    expect(readdirSync(folder('volumes'))).toEqual([]);
    expect(readdirSync(rootDirectory)).toEqual(['pods']);
    expect(events).toEqual([]);
  });

  it('can be written by every user of a container, whatever the umask', async () => {
    const before = process.umask(0o077);
    try {
      await newVolumes().waitForAttachAndMount(data, {});
    } finally {
      process.umask(before);
    }
    expect(statSync(dataFolder()).mode & 0o777).toBe(0o777);
    expect(statSync(join(dataFolder(), '..')).mode & 0o777).toBe(0o755);
    expect(statSync(folder('plugins', 'kubernetes.io~empty-dir', 'data')).mode & 0o777).toBe(0o750);
    expect(statSync(folder('plugins', 'kubernetes.io~empty-dir', 'data', 'ready')).mode & 0o777).toBe(0o640);
  });

  it('that was removed with its pod is new when the pod comes again', async () => {
    const volumes = newVolumes();
    await volumes.waitForAttachAndMount(data, {});
    writeFileSync(join(dataFolder(), 'file'), 'old');
    await volumes.waitForUnmount(data, {});
    await volumes.waitForAttachAndMount(data, {});
    expect(readdirSync(dataFolder())).toEqual([]);
    expect(readdirSync(folder()).toSorted()).toEqual(['plugins', 'volumes']);
  });

  it('in memory is a folder where there are no mounts, and its files stay, too', async () => {
    const memory = podWith({ name: 'data', emptyDir: { medium: 'Memory' } });
    for (const volumes of [newVolumes(), newVolumes()]) {
      await volumes.waitForAttachAndMount(memory, {});
      writeFileSync(join(dataFolder(), 'file'), 'kept', { flag: 'a' });
    }
    expect(readFileSync(join(dataFolder(), 'file'), 'utf8')).toBe('keptkept');
  });

  it('without mounts, files belong to this user, whoever the containers are', async () => {
    const projected = { sources: [{ serviceAccountToken: { path: 'token' } }] };
    const pod = podWith({ name: 'token', projected });
    const objects = { getServiceAccountToken: async () => 'secret' };
    const securityContext = { runAsUser: 12_345, fsGroup: 12_345 };
    const spec = { ...pod.spec, containers: [{ name: 'app' }], securityContext };
    await newVolumes({ objects }).waitForAttachAndMount({ ...pod, spec }, {});
    const { uid, gid, mode } = statSync(folder('volumes', 'kubernetes.io~projected', 'token', 'token'));
    expect([uid, gid, mode & 0o777]).toEqual([process.getuid!(), statSync(folder()).gid, 0o600]);
  });
});

describe('a volume that cannot be set up', () => {
  it('is tried again after at most 122 seconds', async () => {
    const abort = new AbortController();
    const mounted = newVolumes().waitForAttachAndMount(config, { signal: abort.signal });
    const delays = [500, 1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 122_000, 122_000];
    for (const [index, ms] of delays.entries()) {
      await expect.poll(() => events.length).toBe(index + 1);
      await settle();
      clock.advance(ms - 1);
      await settle();
      expect(events).toHaveLength(index + 1);
      clock.advance(1);
    }
    await expect.poll(() => events.length).toBe(delays.length + 1);
    await settle();
    abort.abort(new Error('ended'));
    await expect(mounted).rejects.toThrow('ended');
    expect(clock.pendingTimers).toBe(0);
  });

  it('is not tried again, and is no Event, when the pod has ended in the meantime', async () => {
    const signal = AbortSignal.abort(new Error('ended'));
    await expect(newVolumes().waitForAttachAndMount(config, { signal })).rejects.toThrow('ended');
    expect(events).toEqual([]);
  });

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
    expect((await volumes.getPodVolumeStats(data, {}))?.volumes.get('data')?.inodes).toBe(2);
    await volumes.waitForUnmount(data, {});
    const release = holdListing();
    await volumes.waitForAttachAndMount(data, {});
    const stats = volumes.getPodVolumeStats(data, {});
    await settle();
    clock.advance(1000);
    expect(await stats).toBeUndefined();
    release();
  });

  it('its volumes stay when the removal is aborted', async () => {
    const volumes = newVolumes();
    await volumes.waitForAttachAndMount(data, {});
    writeFileSync(join(dataFolder(), 'file'), 'kept');
    const signal = AbortSignal.abort(new Error('stopping'));
    await expect(volumes.waitForUnmount(data, { signal })).rejects.toThrow('stopping');
    await volumes.waitForUnmount(data, {});
    expect(readdirSync(folder())).toEqual([]);
  });
});

describe('a folder of an orphaned pod that cannot be removed', () => {
  it('is one warning that names it, the others are removed, and one line says when it is gone', async () => {
    for (const uid of ['a', 'b', 'c']) mkdirSync(join(rootDirectory, 'pods', uid, 'volumes'), { recursive: true });
    const { rmdir } = HostDirectory.prototype;
    vi.spyOn(HostDirectory.prototype, 'rmdir').mockImplementation(async function (this: HostDirectory, name) {
      if (['a', 'c'].includes(String(name))) throw new Error(`EIO: ${String(name)}`);
      return rmdir.call(this, name);
    });
    const volumes = newVolumes();
    for (let i = 0; i < 2; i += 1) await volumes.cleanupOrphanedPodDirs(new Set(), {});
    expect(readdirSync(join(rootDirectory, 'pods')).toSorted()).toEqual(['a', 'c']);
    const reasons = ['a', 'c'].map((uid) => `${join(rootDirectory, 'pods', uid)}: EIO: ${uid}`);
    expect(logger.warnings.map(({ message }) => message)).toEqual(['Removing the folders of orphaned pods failed']);
    const { reason } = logger.warnings[0]!.fields as { readonly reason: string };
    expect(reason.split('; ').toSorted()).toEqual(reasons);
    vi.restoreAllMocks();
    await volumes.cleanupOrphanedPodDirs(new Set(), {});
    expect(readdirSync(join(rootDirectory, 'pods'))).toEqual([]);
    expect(goodNews(logger).map(({ message }) => message)).toEqual([
      'Removed the folder of an orphaned pod',
      'Removed the folder of an orphaned pod',
      'Removed the folder of an orphaned pod',
      'Removing the folders of orphaned pods succeeded again',
    ]);
  });

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

describe.runIf(isRoot)('as root', () => {
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

  const mountsAt = (path: string): string[] =>
    readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .filter((line) => line.includes(` ${path} `));

  it('what may be secret is only in memory, and is mounted once', async () => {
    configMap = { data: { key: 'x' } };
    const pod = podWith({ name: 'config', configMap: { name: 'c' } }, { name: 'keys', secret: { secretName: 's' } });
    const [volumes, secrets] = [newVolumes({ mounts: true }), folder('volumes', 'kubernetes.io~secret', 'keys')];
    for (const each of [volumes, volumes, newVolumes({ mounts: true })]) await each.waitForAttachAndMount(pod, {});
    expect(mountsAt(secrets)).toEqual([expect.stringContaining('tmpfs')]);
    expect(mountsAt(folder('volumes', 'kubernetes.io~configmap', 'config'))).toEqual([]);
    expect(readFileSync(join(secrets, 'key'), 'utf8')).toBe('secret');
    await volumes.waitForUnmount(pod, {});
    expect(mountsAt(secrets)).toEqual([]);
    expect(readdirSync(folder())).toEqual([]);
  });

  it('an emptyDir in memory has its size, is mounted once, and again after the machine was restarted', async () => {
    const pod = podWith({ name: 'data', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } });
    const volumes = newVolumes({ mounts: true });
    for (let i = 0; i < 2; i += 1) await volumes.waitForAttachAndMount(pod, {});
    expect(mountsAt(dataFolder())).toEqual([expect.stringMatching(/^tmpfs .*size=1024k/)]);
    expect(statSync(dataFolder()).mode & 0o7777).toBe(0o1777);
    execFileSync('umount', [dataFolder()]);
    await newVolumes({ mounts: true }).waitForAttachAndMount(pod, {});
    expect(mountsAt(dataFolder())).toHaveLength(1);
    await volumes.waitForUnmount(pod, {});
    expect(mountsAt(dataFolder())).toEqual([]);
  });

  it('the fsGroup gets what containers of another pod have left in an emptyDir, but no other right to it', async () => {
    const pod = podWith({ name: 'data', emptyDir: {} });
    const grouped = { ...pod, spec: { ...pod.spec, securityContext: { fsGroup: 1234 } } };
    mkdirSync(join(dataFolder(), 'sub'), { recursive: true });
    writeFileSync(join(dataFolder(), 'sub', 'file'), '');
    symlinkSync('/etc/passwd', join(dataFolder(), 'link'));
    execFileSync('chmod', ['750', join(dataFolder(), 'sub')]);
    execFileSync('chmod', ['600', join(dataFolder(), 'sub', 'file')]);
    const passwd = statSync('/etc/passwd');
    await newVolumes({ mounts: true }).waitForAttachAndMount(grouped, {});
    const of = (path: string) => {
      const { gid, uid, mode } = lstatSync(join(dataFolder(), path));
      return [uid, gid, (mode & 0o7777).toString(8)];
    };
    expect(of('sub')).toEqual([0, 1234, '2770']);
    expect(of('sub/file')).toEqual([0, 1234, '660']);
    expect(of('link').slice(0, 2)).toEqual([0, 1234]);
    expect(statSync('/etc/passwd')).toMatchObject({ gid: passwd.gid, mode: passwd.mode });
  });

  it('the fsGroup may read files of a ConfigMap with any mode, and not write them', async () => {
    configMap = { data: { key: 'x' } };
    const pod = podWith({ name: 'config', configMap: { name: 'c', defaultMode: 0o400 } });
    const grouped = { ...pod, spec: { ...pod.spec, securityContext: { fsGroup: 1234 } } };
    await newVolumes({ mounts: true }).waitForAttachAndMount(grouped, {});
    expect((statSync(configFile()).mode & 0o7777).toString(8)).toBe('440');
    expect((statSync(join(configFile(), '..', '..data')).mode & 0o7777).toString(8)).toBe('2755');
  });

  it('what is mounted in a folder of the pod is unmounted, not removed', async () => {
    const volumes = newVolumes({ mounts: true });
    await volumes.waitForAttachAndMount(data, {});
    const host = directories.create();
    writeFileSync(join(host, 'precious'), '');
    mkdirSync(folder('volumes', 'mounted'));
    execFileSync('mount', ['--bind', host, folder('volumes', 'mounted')]);
    await volumes.waitForUnmount(data, {});
    expect(readdirSync(host)).toEqual(['precious']);
    expect(readdirSync(folder())).toEqual([]);
  });
});

describe('the set-up of a volume that goes on', () => {
  /** What else is in progress gets as many turns, which is more than a set-up needs. */
  async function manyFileOperations(): Promise<void> {
    for (let i = 0; i < 300; i += 1) await stat(rootDirectory);
  }

  /** Makes each rename wait until it is let go on; the list has those that were asked for. */
  function holdRenames(): (() => void)[] {
    const { rename } = HostDirectory.prototype;
    const held: (() => void)[] = [];
    vi.spyOn(HostDirectory.prototype, 'rename').mockImplementation(async function (this: HostDirectory, ...to) {
      await new Promise<void>((resolve) => held.push(resolve));
      return rename.apply(this, to);
    });
    return held;
  }

  it('leaves nothing of a Secret that is read after the end of the pod', async () => {
    let respond = (secret: object): void => void secret;
    const getSecret = () => new Promise<object>((resolve) => (respond = resolve));
    const volumes = newVolumes({ objects: { getSecret } });
    const pod = podWith({ name: 'keys', secret: { secretName: 's' } });
    const abort = new AbortController();
    const mounted = untilAborted(volumes.waitForAttachAndMount(pod, { signal: abort.signal }), abort.signal);
    await expect.poll(() => existsSync(folder('plugins'))).toBe(true);
    await settle(clock);
    abort.abort(new Error('the pod is terminating'));
    await expect(mounted).rejects.toThrow('the pod is terminating');
    await volumes.waitForUnmount(pod, {});
    respond({ data: { key: 'c2VjcmV0' } });
    await manyFileOperations();
    expect(readdirSync(folder())).toEqual([]);
    expect(events).toEqual([]);
  });

  it('is waited for before the volumes of a pod that has ended are removed', async () => {
    configMap = { data: { key: 'new' } };
    const held = holdRenames();
    const volumes = newVolumes();
    const mounted = volumes.waitForAttachAndMount(config, {});
    await expect.poll(() => held).toHaveLength(1);
    const unmounted = volumes.waitForUnmount(config, {});
    await expect(mounted).rejects.toThrow('the pod has ended');
    await settle(clock);
    expect(existsSync(join(configFile(), '..'))).toBe(true);
    vi.restoreAllMocks();
    held[0]!();
    await unmounted;
    expect(readdirSync(folder())).toEqual([]);
  });

  it('leaves no stats of volumes, and a lookup makes none', async () => {
    const volumes = newVolumes();
    expect(await volumes.getPodVolumeStats(data, {})).toBeUndefined();
    await volumes.waitForAttachAndMount(data, {});
    expect(await volumes.getPodVolumeStats(data, {})).toBeDefined();
    await volumes.waitForUnmount(data, {});
    expect(await volumes.getPodVolumeStats(data, {})).toBeUndefined();
  });

  it('is waited for before the next mount of the volume begins, which then has all of its files', async () => {
    configMap = { data: { key: 'old' } };
    const held = holdRenames();
    const volumes = newVolumes();
    const abort = new AbortController();
    const tooSlow = untilAborted(volumes.waitForAttachAndMount(config, { signal: abort.signal }), abort.signal);
    await expect.poll(() => held).toHaveLength(1);
    abort.abort(new Error('took too long'));
    await expect(tooSlow).rejects.toThrow('took too long');
    configMap = { data: { key: 'new' } };
    let isMounted = false;
    const again = volumes.waitForAttachAndMount(config, {}).then(() => (isMounted = true));
    for (let next = 0; !isMounted; next += 1) {
      await manyFileOperations();
      held[next]?.();
    }
    await again;
    expect(readFileSync(configFile(), 'utf8')).toBe('new');
  });
});
