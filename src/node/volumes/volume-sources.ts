import { join } from 'node:path';
import { type KubeObject, podSpecOf } from '../../kube/objects/kube-object.ts';
import type { Pod } from '../../kube/objects/types.ts';
import { requireName } from '../host-paths/names.ts';

/** A volume of a pod; beside the name, one field is set. */
export type Volume = KubeObject<'Volume'>;

export function volumesOf(pod: Pod): readonly Volume[] {
  return podSpecOf(pod).volumes ?? [];
}

/** The pod's `fsGroup`: the group of its volumes. */
export function fsGroupOf(pod: Pod): number | undefined {
  return podSpecOf(pod).securityContext?.fsGroup ?? undefined;
}

/** Whether containers cannot write the volume: its content comes from API objects or an image. */
export function isReadOnlySource({ configMap, secret, downwardAPI, projected, image }: Volume): boolean {
  return (configMap ?? secret ?? downwardAPI ?? projected ?? image) !== undefined;
}

const pluginNames = [
  ['emptyDir', 'kubernetes.io~empty-dir'],
  ['configMap', 'kubernetes.io~configmap'],
  ['secret', 'kubernetes.io~secret'],
  ['downwardAPI', 'kubernetes.io~downward-api'],
  ['projected', 'kubernetes.io~projected'],
] as const;

/** The names that lead from the root directory to that of a pod. Throws for a UID that is not a file name. Source: kubelet `getPodDir`. */
export function podDirectoryNames({ metadata }: Pod): [string, string] {
  return ['pods', requireName(metadata?.uid ?? '')];
}

export function podDirectory(rootDirectory: string, pod: Pod): string {
  return join(rootDirectory, ...podDirectoryNames(pod));
}

/**
 * The names that lead from the root directory to a volume that is not a host path. Throws for an unsupported type. Source:
 * kubelet `getPodVolumeDir`.
 */
export function volumeNames(pod: Pod, volume: Volume): string[] {
  const plugin = pluginNames.find(([source]) => volume[source] !== undefined)?.[1];
  if (plugin === undefined) {
    const type = Object.keys(volume).find((field) => field !== 'name') ?? '';
    throw new Error(`volume type ${type} is not supported by this agent`);
  }
  return [...podDirectoryNames(pod), 'volumes', plugin, requireName(volume.name)];
}

/** The path of a volume. Throws for an unsupported type. */
export function volumePath(rootDirectory: string, pod: Pod, volume: Volume): string {
  return volume.hostPath ? volume.hostPath.path : join(rootDirectory, ...volumeNames(pod, volume));
}

/** Whether the volume takes space on the node's disk. Source: kubelet `IsLocalEphemeralVolume`. */
export function isLocalEphemeralVolume({ emptyDir, configMap }: Volume): boolean {
  return configMap !== undefined || (emptyDir !== undefined && !emptyDir.medium);
}
