import { basename, dirname } from 'node:path';
import { HostDirectory } from './host-directory.ts';
import type { HostFiles } from './host-files.ts';

/**
 * Opens the folder of a container's log, `…/POD/CONTAINER`, for the time of `work`, which gets the name of the log in it.
 * Neither folder may be a link: a pod that has `/var/log` as a host path could put one there.
 *
 * Divergence: the kubelet follows links to logs, which are Docker's.
 */
export async function useLogFolder<Result>(
  files: HostFiles,
  path: string,
  work: (folder: HostDirectory, name: string) => Promise<Result>,
): Promise<Result> {
  const folders = dirname(path).split('/').filter(Boolean);
  return HostDirectory.use(files, `/${folders.slice(0, -2).join('/')}`, folders.slice(-2), (folder) =>
    work(folder, basename(path)),
  );
}
