import type { VolumeMount, VolumeMountStatus } from '../../kube/types.ts';

/**
 * The volume mounts of a container that has not been created yet. Recursive read-only mounts are
 * reported as `Disabled`, because the runtime port does not support them.
 * Source: kubelet `convertToAPIContainerStatuses`, `resolveRecursiveReadOnly`.
 */
export function volumeMountStatuses(volumeMounts: readonly VolumeMount[]): readonly VolumeMountStatus[] {
  return volumeMounts.map(({ name, mountPath, readOnly }) => ({
    name,
    mountPath,
    ...(readOnly && { readOnly: true, recursiveReadOnly: 'Disabled' }),
  }));
}
