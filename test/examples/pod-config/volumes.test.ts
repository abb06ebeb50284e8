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
import { join } from 'node:path';
import type { Pod } from 'kubelet-status-manager';
import { FakeClock, type RecordingLogger, recordingLogger } from 'kubelet-status-manager/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NodeDirectory } from '../../../examples/node-agent/process-runtime/node-directory.ts';
import { Volumes } from '../../../examples/node-agent/pod-config/volumes.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { fakeConfigObjects, node } from '../process-runtime/test-runtime.ts';

let path: string;
let directory: NodeDirectory;
let objects: Record<string, Record<string, string>>;
let volumes: Volumes;
let clock: FakeClock;
let logger: RecordingLogger;
beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), 'vol-'));
  directory = new NodeDirectory(join(path, 'node'));
  objects = {
    'configmap/settings': { level: 'high', color: 'red' },
    'secret/login': { password: 'hush' },
  };
  clock = new FakeClock();
  logger = recordingLogger();
  volumes = new Volumes({ directory, configObjects: fakeConfigObjects(objects), node, clock, logger });
});
afterEach(() => rm(path, { recursive: true, force: true }));

function podOf(...sources: object[]): Pod {
  const metadata = { namespace: 'default', name: 'web', uid: 'uid-1', labels: { app: 'web' } };
  return { metadata, spec: { volumes: sources.map((source, index) => ({ name: `v${index}`, ...source })) } };
}

const volume = (...names: string[]): string => join(directory.volume('uid-1', 'v0'), ...names);
const content = (...names: string[]): string => readFileSync(volume(...names), 'utf8');
const mount = (...sources: object[]): Promise<void> => volumes.waitForAttachAndMount(podOf(...sources));

/** What processes see in the volume. */
const visible = (): string[] =>
  readdirSync(volume())
    .filter((name) => !name.startsWith('..'))
    .toSorted();

describe('volumes', () => {
  it('the usage of an emptyDir is the size of all files in it, without the targets of links', async () => {
    const pod = podOf({ emptyDir: {} }, { hostPath: { path } });
    await volumes.waitForAttachAndMount(pod);
    mkdirSync(volume('sub'));
    writeFileSync(volume('sub', 'file'), Buffer.alloc(2000));
    writeFileSync(volume('one'), 'x');
    symlinkSync('sub/file', volume('link'));
    expect(await volumes.emptyDirUsage(pod)).toEqual(new Map([['v0', 2001 + 'sub/file'.length]]));
  });

  it('emptyDir keeps its files as long as the pod exists', async () => {
    await mount({ emptyDir: {} });
    writeFileSync(volume('file'), 'kept');
    volumes = new Volumes({ directory, configObjects: fakeConfigObjects(), node, clock, logger });
    await mount({ emptyDir: {} });
    expect(content('file')).toBe('kept');
    await volumes.waitForUnmount(podOf());
    expect(existsSync(volume())).toBe(false);
  });

  it('hostPath is the path itself, which is not removed with the pod', async () => {
    const target = join(path, 'host');
    await mount({ hostPath: { path: target, type: 'DirectoryOrCreate' } });
    writeFileSync(volume('file'), 'kept');
    await volumes.waitForUnmount(podOf());
    expect(readFileSync(join(target, 'file'), 'utf8')).toBe('kept');
  });

  it.each([
    ['Directory', 'is not a directory'],
    ['File', 'is not a file'],
  ])('hostPath of type %s has to be there', async (type, message) => {
    const result = mount({ hostPath: { path: join(path, 'missing'), type } });
    await expect(result).rejects.toThrow(
      `MountVolume.SetUp failed for volume "v0" : hostPath type check failed: ${join(path, 'missing')} ${message}`,
    );
  });

  it('configMap and secret have a file for each key, or for each item', async () => {
    await mount(
      { configMap: { name: 'settings' } },
      { secret: { secretName: 'login', items: [{ key: 'password', path: 'a/b' }] } },
    );
    expect(visible()).toEqual(['color', 'level']);
    expect(content('level')).toBe('high');
    expect(readFileSync(join(directory.volume('uid-1', 'v1'), 'a', 'b'), 'utf8')).toBe('hush');
  });

  it.each([
    [undefined, 0o600],
    [0o644, 0o600],
    [0o555, 0o500],
  ])('files of a secret with mode %s are for the user alone', async (defaultMode, mode) => {
    await mount({ secret: { secretName: 'login', defaultMode } });
    expect(statSync(volume('password')).mode & 0o777).toBe(mode);
  });

  it('downwardAPI has the fields of the pod', async () => {
    await mount({ downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } });
    expect(content('labels')).toBe('app="web"');
  });

  it.each([
    [{ configMap: { name: 'no' } }, 'configmap "no" not found'],
    [{ secret: { secretName: 'no' } }, 'secret "no" not found'],
    [{ configMap: { name: 'settings', items: [{ key: 'no', path: 'x' }] } }, 'references non-existent config key: no'],
    [
      { secret: { secretName: 'login', items: [{ key: 'password', path: '../x' }] } },
      'must not lead out of its volume',
    ],
    [{ nfs: {} }, 'does not support nfs'],
  ])('%j cannot be mounted', async (source, message) => {
    const result = mount(source);
    await expect(result).rejects.toThrow('MountVolume.SetUp failed for volume "v0" : ');
    await expect(result).rejects.toThrow(message);
  });

  it.each([[{ configMap: { name: 'no', optional: true } }], [{ secret: { secretName: 'no', optional: true } }]])(
    '%j is empty',
    async (source) => {
      await mount(source);
      expect(visible()).toEqual([]);
    },
  );

  it('a ConfigMap that was missing is mounted at the next sync', async () => {
    await expect(mount({ configMap: { name: 'late' } })).rejects.toThrow('not found');
    objects['configmap/late'] = { key: 'value' };
    await mount({ configMap: { name: 'late' } });
    expect(content('key')).toBe('value');
  });
});

describe('changes of a ConfigMap', () => {
  it('are seen after a minute, all at the same time', async () => {
    await mount({ configMap: { name: 'settings' } });
    const before = lstatSync(volume('level')).ino;
    objects['configmap/settings'] = { level: 'low', size: 'big' };
    await mount({ configMap: { name: 'settings' } });
    expect(content('level')).toBe('high');
    clock.advance(60_000);
    await mount({ configMap: { name: 'settings' } });
    expect(visible()).toEqual(['level', 'size']);
    expect(content('level')).toBe('low');
    // The name is the same link as before: only `..data` was replaced.
    expect(lstatSync(volume('level')).ino).toBe(before);
    expect(readdirSync(volume()).filter((name) => name.startsWith('..'))).toHaveLength(2);
  });

  it('that cannot be read do not modify the volume, and are logged', async () => {
    await mount({ configMap: { name: 'settings' } });
    delete objects['configmap/settings'];
    clock.advance(60_000);
    await mount({ configMap: { name: 'settings' } });
    expect(content('level')).toBe('high');
    expect(logger.lines.map(({ message }) => message)).toEqual(['Failed to refresh a volume; keeping its files']);
  });
});
