import { homedir } from 'node:os';
import { join } from 'node:path';

/** A folder for what is made once: in `~/.cache`, or where XDG_CACHE_HOME says. */
export function cacheFolder(name: string): string {
  const caches = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  return join(caches, 'kubelet-status-manager', name);
}
