import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { removePodCgroups } from '../../src/cri/pod-cgroups.ts';
import { TestDirectories } from '../support/directories.ts';

const directories = new TestDirectories();
afterEach(() => directories.removeAll());

it.each([
  ['cgroup 2', ['.']],
  ['cgroup 1', ['cpu', 'memory']],
])('removes the cgroups of removed pods: %s', async (_name, hierarchies) => {
  const mountPoint = directories.create();
  if (hierarchies.includes('.')) writeFileSync(join(mountPoint, 'cgroup.controllers'), '');
  const folders = hierarchies.map((hierarchy) => join(mountPoint, hierarchy, 'kubepods'));
  const paths = ['podgone', 'burstable/podgone/container', 'besteffort/podgone', 'podkept', 'other'];
  for (const folder of folders) for (const path of paths) mkdirSync(join(folder, path), { recursive: true });
  await removePodCgroups('/kubepods', (podUID) => podUID === 'gone', mountPoint);
  for (const folder of folders)
    expect(
      ['podgone', 'burstable/podgone', 'besteffort/podgone', 'podkept', 'other'].map((path) =>
        existsSync(join(folder, path)),
      ),
    ).toEqual([false, false, false, true, true]);
});

it('leaves a cgroup that cannot be removed', async () => {
  const mountPoint = directories.create();
  const pod = join(mountPoint, 'cpu', 'kubepods', 'podgone');
  mkdirSync(pod, { recursive: true });
  // Stands for a process in it.
  writeFileSync(join(pod, 'busy'), '');
  await removePodCgroups('/kubepods', () => true, mountPoint);
  expect(existsSync(pod)).toBe(true);
});
