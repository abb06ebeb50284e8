import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { bindMountOpenFile, isMountPoint, mountTmpfs } from '../../../src/agent/volumes/mounts.ts';
import { PodVolumes } from '../../../src/agent/volumes/pod-volumes.ts';
import { open } from 'node:fs/promises';
import { FakeClock, silentLogger } from 'kubelet-status-manager/testing';
import { TestDirectories } from '../../support/directories.ts';

const directories = new TestDirectories();
afterEach(() => directories.removeAll());

function volumesIn(rootDirectory: string): PodVolumes {
  const unused = { mounts: true, objects: undefined, allocatable: {}, eventRecorder: undefined };
  return new PodVolumes({ ...unused, rootDirectory, clock: new FakeClock(), logger: silentLogger });
}

it('folders of orphaned pods are removed; those of other pods stay', async () => {
  const root = directories.create();
  for (const uid of ['kept', 'orphan']) {
    mkdirSync(join(root, 'pods', uid, 'volumes', 'kubernetes.io~empty-dir', 'data'), { recursive: true });
    writeFileSync(join(root, 'pods', uid, 'etc-hosts'), '');
  }
  await volumesIn(root).cleanupOrphanedPodDirs(new Set(['kept']), {});
  expect(readdirSync(join(root, 'pods'))).toEqual(['kept']);
  await volumesIn(join(root, 'missing')).cleanupOrphanedPodDirs(new Set(), {});
});

it.skipIf(process.getuid?.() !== 0)(
  'what is mounted in the folder of an orphaned pod is unmounted, not removed',
  async () => {
    const root = directories.create();
    const host = join(root, 'host');
    mkdirSync(host);
    writeFileSync(join(host, 'precious'), '');
    const [memory, subPath] = ['memory', 'sub-path'].map((name) => join(root, 'pods', 'orphan', name));
    for (const path of [memory!, subPath!]) mkdirSync(path, { recursive: true });
    await mountTmpfs(memory!, 4096n);
    const folder = await open(host);
    await bindMountOpenFile(folder.fd, subPath!);
    await folder.close();
    expect(await isMountPoint(subPath!)).toBe(true);
    await volumesIn(root).cleanupOrphanedPodDirs(new Set(), {});
    expect(existsSync(join(root, 'pods', 'orphan'))).toBe(false);
    expect(readdirSync(host)).toEqual(['precious']);
  },
);
