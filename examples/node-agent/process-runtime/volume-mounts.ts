import { existsSync, symlinkSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { ContainerConfigError, type RuntimeHelper } from 'kubelet-status-manager/agent';
import { makeDirectories } from '../make-directories.ts';

type Mount = Awaited<ReturnType<RuntimeHelper['generateRunContainerOptions']>>['mounts'][number];

/** What a path of a container's spec is on this machine: it never leads out of the container's root. */
export function pathInRoot(root: string, path: string): string {
  return join(root, posix.resolve('/', path));
}

/**
 * Makes the volumes of a container visible below its root, each as a symbolic link at its `mountPath`.
 * @throws ContainerConfigError for mounts that links cannot replace
 */
export function linkMounts(root: string, mounts: readonly Mount[]): void {
  for (const mount of mounts) {
    const { containerPath, hostPath } = mount;
    const link = pathInRoot(root, containerPath);
    const isNested = mounts.some(
      (other) => other !== mount && `${link}/`.startsWith(`${pathInRoot(root, other.containerPath)}/`),
    );
    if (isNested || link === join(root, '/')) {
      const because = 'volumes of processes cannot be mounted inside of others';
      throw new ContainerConfigError(`mountPath ${containerPath}: ${because}`);
    }
    if (!existsSync(hostPath)) throw new ContainerConfigError(`the path ${hostPath} does not exist`);
    makeDirectories(dirname(link));
    symlinkSync(hostPath, link);
  }
}
