import { chmodSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { HostDirectory } from '../../../src/node/host-paths/host-directory.ts';
import { mountTmpfs, unmountAll } from '../../../src/node/host-paths/mounts.ts';
import { walk } from '../../../src/node/host-paths/walk.ts';
import { TestDirectories } from '../../support/directories.ts';
import { nestDirectories } from '../../support/nested-directories.ts';
import { systemFiles } from '../../../src/node/host-paths/host-files.ts';

const directories = new TestDirectories();
let folder: string;
beforeEach(() => (folder = directories.create()));
afterEach(() => {
  vi.restoreAllMocks();
  directories.removeAll();
});
const isLinux = process.platform === 'linux';

/** What is visited, and whether that is everything. */
async function visited(maxPending?: number): Promise<{ readonly names: string[]; readonly isComplete: boolean }> {
  const names: string[] = [];
  const visit = (_: HostDirectory, name: string | Buffer): void => void names.push(String(name));
  const isComplete = await HostDirectory.use(systemFiles, folder, [], (root) =>
    walk(root, visit, { ...(maxPending !== undefined && { maxPending }) }),
  );
  return { names: names.toSorted(), isComplete };
}

describe('walk with a bound of directories side by side', () => {
  it('visits those above the bound, without what is in them, and is not complete', async () => {
    for (const name of ['a', 'b', 'c']) mkdirSync(join(folder, name, 'inside'), { recursive: true });
    expect(await visited(2)).toEqual({ names: ['a', 'b', 'c', 'inside', 'inside'], isComplete: false });
  });

  it('counts only those that have not been walked, on all levels', async () => {
    for (const name of ['a', 'b'])
      for (const inside of ['x', 'y']) mkdirSync(join(folder, name, inside, 'z'), { recursive: true });
    expect((await visited(3)).isComplete).toBe(true);
    expect((await visited(2)).isComplete).toBe(false);
  });

  it('does not count files', async () => {
    for (const name of ['a', 'b', 'c']) writeFileSync(join(folder, name), '');
    mkdirSync(join(folder, 'd', 'inside'), { recursive: true });
    expect(await visited(1)).toEqual({ names: ['a', 'b', 'c', 'd', 'inside'], isComplete: true });
  });
});

describe('walk goes on', () => {
  beforeEach(() => {
    for (const name of ['a', 'b']) mkdirSync(join(folder, name, 'inside'), { recursive: true });
  });
  const errorOf = (code: string): Error => Object.assign(new Error(code), { code });

  it.each(['ENOENT', 'ENOTDIR', 'EACCES'])('without a directory that cannot be opened: %s', async (code) => {
    const { child } = HostDirectory.prototype;
    vi.spyOn(HostDirectory.prototype, 'child').mockImplementation(async function (this: HostDirectory, name) {
      if (String(name) === 'a') throw errorOf(code);
      return child.call(this, name);
    });
    expect(await visited()).toEqual({ names: ['a', 'b', 'inside'], isComplete: true });
  });

  it('without what is removed while it is listed', async () => {
    const { stats } = HostDirectory.prototype;
    vi.spyOn(HostDirectory.prototype, 'stats').mockImplementation(async function (this: HostDirectory, name) {
      if (String(name) === 'a') rmSync(join(folder, 'a'), { recursive: true });
      return stats.call(this, name);
    });
    expect(await visited()).toEqual({ names: ['b', 'inside'], isComplete: true });
  });

  it('without an entry that a visit does not find any more', async () => {
    const names: string[] = [];
    const visit = (_: HostDirectory, name: string | Buffer): void => {
      if (String(name) === 'a') throw errorOf('ENOENT');
      names.push(String(name));
    };
    await HostDirectory.use(systemFiles, folder, [], (root) => walk(root, visit));
    expect(names).toEqual(['b', 'inside']);
  });

  it.runIf(isLinux)('in what is left if a deep directory is removed while it is walked', async () => {
    nestDirectories(folder, 'd', 60);
    const before = readdirSync('/proc/self/fd').length;
    const { parent } = HostDirectory.prototype;
    vi.spyOn(HostDirectory.prototype, 'parent').mockImplementation(async function (this: HostDirectory) {
      rmSync(join(folder, ...Array.from({ length: 10 }, () => 'd')), { recursive: true, force: true });
      return parent.call(this);
    });
    const { names, isComplete } = await visited();
    expect([names.filter((name) => name === 'd').length, isComplete]).toEqual([60, true]);
    expect(names.filter((name) => name !== 'd')).toEqual(['a', 'b', 'inside', 'inside']);
    expect(readdirSync('/proc/self/fd').length).toBeLessThanOrEqual(before);
  });

  it.each(['child', 'stats', 'entries'] as const)('after no other failure: %s', async (method) => {
    vi.spyOn(HostDirectory.prototype, method).mockImplementation(() => {
      throw errorOf('EIO');
    });
    await expect(visited()).rejects.toThrow('EIO');
  });
});

it.runIf(isLinux)('walk leaves no directory open when a visit fails', async () => {
  nestDirectories(folder, 'd', 40);
  const open = readdirSync('/proc/self/fd').length;
  let count = 0;
  const visit = (): void => {
    if (++count === 38) throw new Error('failed');
  };
  await expect(HostDirectory.use(systemFiles, folder, [], (root) => walk(root, visit))).rejects.toThrow('failed');
  expect(readdirSync('/proc/self/fd').length).toBeLessThanOrEqual(open);
});

it.runIf(isLinux).each(['parent', 'ownStats', 'ownStats of a parent'] as const)(
  'walk leaves no directory open when a call for it fails: %s',
  async (failing) => {
    nestDirectories(folder, 'd', 40);
    const open = readdirSync('/proc/self/fd').length;
    const { ownStats, parent } = HostDirectory.prototype;
    let count = 0;
    let failsAt = failing === 'ownStats' ? 38 : Infinity;
    vi.spyOn(HostDirectory.prototype, 'parent').mockImplementation(async function (this: HostDirectory) {
      if (failing === 'parent') throw new Error('failed');
      failsAt = count + 1;
      return parent.call(this);
    });
    vi.spyOn(HostDirectory.prototype, 'ownStats').mockImplementation(async function (this: HostDirectory) {
      if (++count === failsAt) throw new Error('failed');
      return ownStats.call(this);
    });
    await expect(visited()).rejects.toThrow('failed');
    expect(readdirSync('/proc/self/fd').length).toBeLessThanOrEqual(open);
  },
);

it.runIf(isLinux)('walk never visits what is beside a directory that was moved away', async () => {
  nestDirectories(folder, 'd', 60);
  const outside = directories.create();
  const depth = (count: number): string => join(folder, ...Array.from({ length: count }, () => 'd'));
  for (let i = 0; i < 30; i += 1) {
    mkdirSync(join(depth(59), `s${i}`));
    mkdirSync(join(outside, `s${i}`));
    writeFileSync(join(outside, `s${i}`, 'precious'), '');
  }
  const { parent } = HostDirectory.prototype;
  let isMoved = false;
  vi.spyOn(HostDirectory.prototype, 'parent').mockImplementation(async function (this: HostDirectory) {
    if (!isMoved)
      for (const name of readdirSync(depth(59))) renameSync(join(depth(59), name), join(outside, `moved-${name}`));
    isMoved = true;
    return parent.call(this);
  });
  expect((await visited()).names).not.toContain('precious');
  expect(isMoved).toBe(true);
});

it.runIf(process.getuid?.() === 0 && isLinux)('walk visits nothing of another file system', async () => {
  for (const name of ['other', 'own/inside']) mkdirSync(join(folder, name), { recursive: true });
  await mountTmpfs(systemFiles, join(folder, 'other'), 65_536n);
  try {
    mkdirSync(join(folder, 'other', 'mounted'));
    expect(await visited()).toEqual({ names: ['inside', 'own'], isComplete: true });
  } finally {
    await unmountAll(systemFiles, folder);
  }
});

// Root may read everything.
it.skipIf(process.getuid?.() === 0)(
  'walk visits a directory that this process may not read, without what is in it',
  async () => {
    mkdirSync(join(folder, 'secret', 'inside'), { recursive: true });
    mkdirSync(join(folder, 'other', 'sub'), { recursive: true });
    chmodSync(join(folder, 'secret'), 0);
    const result = await visited();
    chmodSync(join(folder, 'secret'), 0o700);
    expect(result).toEqual({ names: ['other', 'secret', 'sub'], isComplete: true });
  },
);
