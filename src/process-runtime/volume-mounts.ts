import { existsSync, symlinkSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { ContainerConfigError, type RunContainerOptions } from '../node/index.ts';
import { makeDirectoriesSync } from '../shared/make-directories.ts';

/** The path on this machine for a path in a container's spec. It never leads out of the container's root. */
export function pathInRoot(root: string, path: string): string {
  return join(root, posix.resolve('/', path));
}

/**
 * Makes the volumes of a container visible below its root, each as a symbolic link at its `mountPath`.
 * @throws ContainerConfigError for mounts that links cannot replace
 */
export function linkMounts(root: string, mounts: RunContainerOptions['mounts']): void {
  const nested = new Set<string>();
  let outer: string | undefined;
  // In sorted order, all paths below a path follow it.
  for (const link of mounts.map(({ containerPath }) => `${pathInRoot(root, containerPath)}/`).toSorted()) {
    if (outer !== undefined && link.startsWith(outer)) nested.add(link);
    else outer = link;
  }
  for (const { containerPath, hostPath, image } of mounts) {
    const refuse = (because: string): never => {
      throw new ContainerConfigError(`mountPath ${containerPath}: ${because}`);
    };
    const link = pathInRoot(root, containerPath);
    if (image !== undefined) refuse('images are not used by processes');
    if (nested.has(`${link}/`) || link === join(root, '/'))
      refuse('volumes of processes cannot be mounted inside of others');
    if (!existsSync(hostPath)) refuse(`the path ${hostPath} does not exist`);
    makeDirectoriesSync(dirname(link));
    symlinkSync(hostPath, link);
  }
}
