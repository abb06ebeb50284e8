import type { BigIntStats } from 'node:fs';
import { undefinedIfMissing } from './error-code.ts';
import type { HostDirectory } from './host-directory.ts';
import { mountsBelow } from './mounts.ts';
import { walk } from './walk.ts';

/** What files take on their disk. Source: kubelet `UsageInfo`. */
export interface UsageInfo {
  readonly bytes: number;
  readonly inodes: number;
}

const bytesPerBlock = 512;
/** File systems that the agent itself mounts as volumes. Others may never respond. */
const typesOfAgent: ReadonlySet<string> = new Set(['tmpfs', 'hugetlbfs']);
/** How many files with several names are remembered so that each counts once. Beyond that, each name counts. */
const maxLinkedFiles = 100_000;

/**
 * What an entry takes with everything in it, as `du` counts it: blocks, each file once, without what is mounted in it. Zero
 * if it is missing. `isComplete` is false if `walk` has left something out. Source: kubelet `fs.DiskUsage`.
 */
export async function diskUsage(
  parent: HostDirectory,
  name: string,
): Promise<UsageInfo & { readonly isComplete: boolean }> {
  const counter = new UsageCounter();
  const path = `${await parent.ownPath()}/${name}`;
  const mounts = await mountsBelow(parent.files, path);
  const own = mounts.findLast((mount) => mount.path === path);
  if (own !== undefined && !typesOfAgent.has(own.type)) return { ...counter.usage, isComplete: true };
  const stats = await parent.stats(name).catch(undefinedIfMissing);
  if (stats !== undefined) counter.add(stats);
  if (!stats?.isDirectory()) return { ...counter.usage, isComplete: true };
  const root = await parent.child(name).catch(undefinedIfMissing);
  if (root === undefined) return { ...counter.usage, isComplete: true };
  const without = mounts.map((mount) => mount.path);
  const isComplete = await root.closedAfter(() => walk(root, (_, __, found) => counter.add(found), { without }));
  return { ...counter.usage, isComplete };
}

class UsageCounter {
  readonly #linked = new Set<bigint>();
  #bytes = 0;
  #inodes = 0;

  get usage(): UsageInfo {
    return { bytes: this.#bytes, inodes: this.#inodes };
  }

  add(stats: BigIntStats): void {
    if (stats.nlink > 1n && !stats.isDirectory()) {
      if (this.#linked.has(stats.ino)) return;
      if (this.#linked.size < maxLinkedFiles) this.#linked.add(stats.ino);
    }
    this.#bytes += Number(stats.blocks) * bytesPerBlock;
    this.#inodes += 1;
  }
}
