import { mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { makeNestedMountPoints, nestedMountPoints } from '../../../src/agent/volumes/nested-mount-points.ts';
import type { Pod } from '../../../src/kube/objects/types.ts';
import { HostDirectory } from '../../../src/node/host-paths/host-directory.ts';
import { TestDirectories } from '../../support/directories.ts';
import { systemFiles } from '../../../src/node/host-paths/host-files.ts';

const directories = new TestDirectories();
afterEach(() => directories.removeAll());

const make = (pod: Pod, folder: string): Promise<void> =>
  HostDirectory.use(systemFiles, folder, ['v'], (volume) => makeNestedMountPoints(nestedMountPoints(pod)('v'), volume));

/** What is created in a folder with a volume `v`, for containers with these mounts: `v` at the first path. */
async function created(...containers: readonly (readonly string[])[]): Promise<string[]> {
  const folder = directories.create();
  mkdirSync(join(folder, 'v'));
  const [init, app, debug] = containers.map((paths) => ({
    name: 'c',
    volumeMounts: paths.map((mountPath, index) => ({ name: index === 0 ? 'v' : 'other', mountPath })),
  }));
  const spec = {
    containers: app ? [app] : [],
    initContainers: init ? [init] : [],
    ephemeralContainers: debug ? [debug] : [],
  };
  await make({ metadata: {}, spec }, folder);
  return (readdirSync(folder, { recursive: true }) as string[]).toSorted();
}

describe('TestGetNestedMountpoints: makeNestedMountPoints', () => {
  it.each<[string, readonly string[], readonly string[]]>([
    ['nothing without nested mounts', ['/dir', '/dirty', '/other'], []],
    ['the directory of a nested mount', ['/dir/', '/dir//nested/./'], ['v/nested']],
    ['no directory inside another nested mount', ['/dir', '/dir/a', '/dir/a-b', '/dir/a/c'], ['v/a', 'v/a-b']],
    ['the directories of relative paths', ['dir', 'dir/a/b'], ['v/a', 'v/a/b']],
    ['what the path says without its ..', ['/dir', '/dir/a/../b'], ['v/b']],
  ])('creates %s', async (_what, paths, expected) => {
    expect(await created(paths)).toEqual(['v', ...expected]);
  });

  it('looks at the mounts of all containers', async () => {
    expect(await created(['/v', '/v/init'], ['/v', '/v/app'], ['/v', '/v/debug'])).toEqual([
      'v',
      ...['v/app', 'v/debug', 'v/init'],
    ]);
  });

  it.each([
    ['a path that leads out of the volume', ['/dir', '/dir/../../outside']],
    ['a longer way out', ['/dir', '/dir/../../../../../../../../../../../../tmp/outside']],
    ['a volume that is mounted through ..', ['/a/..', '/a/../outside']],
  ])('creates nothing on the host for %s', async (_what, paths) => {
    expect((await created(paths)).filter((path) => path !== 'v')).toEqual([]);
  });

  it('refuses a volume that is mounted outside of the root of the container', async () => {
    await expect(created(['../v', '../v/a'])).rejects.toThrow('invalid container mount point ../v');
  });

  it('refuses a mount path that the kernel cannot open at once', async () => {
    await expect(created(['/dir', `/dir/${'a/'.repeat(300_000)}`])).rejects.toThrow('invalid path');
  });

  it('creates what is inside volumes at one path in the last of them, which hides the others', () => {
    const volumeMounts = [
      { name: 'v', mountPath: '/dir' },
      { name: 'w', mountPath: '/dir/' },
      { name: 'x', mountPath: '/dir/nested' },
    ];
    const nested = nestedMountPoints({ metadata: {}, spec: { containers: [{ name: 'c', volumeMounts }] } });
    expect(['v', 'w', 'x'].map((name) => nested(name))).toEqual([[], ['nested'], []]);
  });

  it('does not follow a link in the volume', async () => {
    const folder = directories.create();
    for (const name of ['v', 'outside']) mkdirSync(join(folder, name));
    symlinkSync('../outside', join(folder, 'v', 'link'));
    const volumeMounts = [
      { name: 'v', mountPath: '/v' },
      { name: 'other', mountPath: '/v/link/a' },
    ];
    const pod = { metadata: {}, spec: { containers: [{ name: 'c', volumeMounts }] } };
    const made = make(pod, folder);
    await expect(made).rejects.toThrow('ENOTDIR');
    expect(readdirSync(join(folder, 'outside'))).toEqual([]);
  });
});
