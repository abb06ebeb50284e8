import { realpathSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { codeOf, undefinedIfMissing } from './error-code.ts';
import { requirePathLength } from './names.ts';

/** A path of the agent as the kernel lists mount points: without links. What does not exist yet is kept as it is. */
export function withoutLinks(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' || dirname(path) === path) throw error;
    return join(withoutLinks(dirname(path)), basename(path));
  }
}

/** A path below a volume, as names without links: each can be opened in the one before. */
export interface PathInside {
  readonly root: string;
  readonly names: readonly string[];
}

/**
 * Resolves the links in a path of a container below a volume; the end of the path need not exist. Rejects for a path that
 * leads out of the volume or is too long. Others may change it at once, so what it led to is reached through `HostDirectory` only.
 */
export async function resolveInside(volume: string, path: string): Promise<PathInside> {
  const root = await realpath(volume);
  const missing: string[] = [];
  for (let existing = requirePathLength(join(root, path)); ; existing = dirname(existing)) {
    const real = await realpath(existing).catch(undefinedIfMissing);
    if (real !== undefined) {
      if (real !== root && !real.startsWith(`${root}/`)) throw new Error('the path is outside of the volume');
      return { root, names: [...relative(root, real).split('/').filter(Boolean), ...missing] };
    }
    missing.unshift(basename(existing));
  }
}
