import { lstat, readdir } from 'node:fs/promises';
import type { BigIntStats } from 'node:fs';
import { join } from 'node:path';

const bytesPerBlock = 512;

/**
 * The bytes that a file or folder takes on its disk, as `du` counts it: blocks, each file once, without other file systems. What is
 * removed in the meantime does not count. Source: `volume/util/fs.DiskUsage`.
 */
export async function diskUsage(path: string): Promise<number> {
  let usedBytes = 0;
  const root = await lstatIfThere(path);
  if (root === undefined) return 0;
  const counted = new Set<bigint>();
  async function count(file: string, stats: BigIntStats): Promise<void> {
    if (stats.dev !== root!.dev || counted.has(stats.ino)) return;
    if (stats.nlink > 1n) counted.add(stats.ino);
    usedBytes += Number(stats.blocks) * bytesPerBlock;
    if (!stats.isDirectory()) return;
    for (const name of await readdir(file).catch(() => [])) {
      const child = join(file, name);
      const childStats = await lstatIfThere(child);
      if (childStats !== undefined) await count(child, childStats);
    }
  }
  await count(path, root);
  return usedBytes;
}

async function lstatIfThere(path: string): Promise<BigIntStats | undefined> {
  return lstat(path, { bigint: true }).catch(() => undefined);
}
