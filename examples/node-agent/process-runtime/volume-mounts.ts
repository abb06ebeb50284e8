import { existsSync } from 'node:fs';
import { mkdir, symlink } from 'node:fs/promises';
import { dirname, join, posix } from 'node:path';
import type { Container } from 'kubelet-status-manager';
import { ContainerConfigError } from 'kubelet-status-manager/agent';

/** What a path of a container's spec is on this machine: it never leads out of the container's root. */
export function pathInRoot(root: string, path: string): string {
  return join(root, posix.resolve('/', path));
}

/**
 * Makes the volumes of a container visible below its root, each as a symbolic link at its `mountPath`.
 * @throws ContainerConfigError for mounts that links cannot replace
 */
export async function linkVolumeMounts(
  root: string,
  { volumeMounts = [] }: Container,
  volume: (name: string) => string,
): Promise<void> {
  for (const { name, mountPath, subPath } of volumeMounts) {
    const link = pathInRoot(root, mountPath);
    const isNested = volumeMounts.some(
      (other) => `${link}/`.startsWith(`${pathInRoot(root, other.mountPath)}/`) && other.mountPath !== mountPath,
    );
    if (isNested || link === join(root, '/')) {
      throw new ContainerConfigError(`mountPath ${mountPath}: volumes of processes cannot be mounted inside of others`);
    }
    const target = pathInRoot(volume(name), typeof subPath === 'string' ? subPath : '');
    if (!existsSync(volume(name))) throw new ContainerConfigError(`the volume ${name} is not there`);
    if (!existsSync(target)) await mkdir(target, { recursive: true }); // as the kubelet does for a subPath
    await mkdir(dirname(link), { recursive: true });
    await symlink(target, link);
  }
}
