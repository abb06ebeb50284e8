import { readdirSync, readlinkSync } from 'node:fs';

/** The number of open descriptors of files and folders below this one. Others come and go with the other tests. */
export function openBelow(folder: string): number {
  const isBelow = (descriptor: string): boolean => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`).startsWith(folder);
    } catch (error) {
      // Longer than a path may be, so it is one of those.
      return (error as NodeJS.ErrnoException).code !== 'ENOENT';
    }
  };
  return readdirSync('/proc/self/fd').filter(isBelow).length;
}
