import { basename, dirname, join, relative } from 'node:path';
import { codeOf, undefinedIfMissing } from './error-code.ts';
import type { HostFiles } from './host-files.ts';
import { requirePathLength } from './names.ts';

/** A path of the agent as the kernel lists mount points: without links. The part that does not exist yet is unchanged. */
export function withoutLinks(files: HostFiles, path: string): string {
  try {
    return files.realpathSync(path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' || dirname(path) === path) throw error;
    return join(withoutLinks(files, dirname(path)), basename(path));
  }
}

/** A path below a volume, as names that are not links: each can be opened in the one before. */
export interface PathInside {
  readonly root: string;
  readonly names: readonly string[];
}

/**
 * Resolves the links in a path of a container below a volume; the end of the path need not exist. Rejects for a path that
 * leads out of the volume or is too long. Others may change the path right afterwards, so its target is only reached
 * through `HostDirectory`.
 */
export async function resolveInside(files: HostFiles, volume: string, path: string): Promise<PathInside> {
  const root = await files.realpath(volume);
  const missing: string[] = [];
  for (let existing = requirePathLength(join(root, path)); ; existing = dirname(existing)) {
    const real = await files.realpath(existing).catch(undefinedIfMissing);
    if (real !== undefined) {
      if (real !== root && !real.startsWith(`${root}/`)) throw new Error('the path is outside of the volume');
      return { root, names: [...relative(root, real).split('/').filter(Boolean), ...missing] };
    }
    missing.unshift(basename(existing));
  }
}
