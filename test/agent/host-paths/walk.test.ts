import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HostDirectory } from '../../../src/agent/host-paths/host-directory.ts';
import { walk } from '../../../src/agent/host-paths/walk.ts';
import { TestDirectories } from '../../support/directories.ts';

const directories = new TestDirectories();
let folder: string;
beforeEach(() => (folder = directories.create()));
afterEach(() => directories.removeAll());

/** What is visited, and whether that is everything. */
async function visited(maxPending?: number): Promise<{ readonly names: string[]; readonly isComplete: boolean }> {
  const names: string[] = [];
  const visit = (_: HostDirectory, name: string | Buffer): void => void names.push(String(name));
  const isComplete = await HostDirectory.use(folder, [], (root) => walk(root, visit, maxPending));
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
