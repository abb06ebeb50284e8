import { join } from 'node:path';
import type { Pod } from '../../kube/objects/types.ts';
import type { TokenRequest } from '../container-options/object-reader.ts';
import type { ObjectFieldSelector, ResourceFieldSelector } from '../container-options/pod-fields.ts';
import { requireName } from '../host-paths/names.ts';

/** Source: `v1.KeyToPath`. */
export interface KeyToPath {
  readonly key: string;
  readonly path: string;
  readonly mode?: number | undefined;
}

interface ObjectSource {
  readonly items?: readonly KeyToPath[] | undefined;
  readonly optional?: boolean | undefined;
}

export interface ConfigMapSource extends ObjectSource {
  readonly name?: string | undefined;
}

interface SecretSource extends ObjectSource {
  readonly secretName?: string | undefined;
}

export interface DownwardAPISource {
  readonly items?:
    | readonly {
        readonly path: string;
        readonly fieldRef?: ObjectFieldSelector | undefined;
        readonly resourceFieldRef?: ResourceFieldSelector | undefined;
        readonly mode?: number | undefined;
      }[]
    | undefined;
}

/** One field is set. Source: `v1.VolumeProjection`. */
export interface VolumeProjection {
  readonly configMap?: ConfigMapSource | undefined;
  readonly secret?: ConfigMapSource | undefined;
  readonly downwardAPI?: DownwardAPISource | undefined;
  readonly serviceAccountToken?: (TokenRequest & { readonly path: string }) | undefined;
}

interface WithDefaultMode {
  /** Default: 0644. */
  readonly defaultMode?: number | undefined;
}

/** A volume of a pod; beside the name, one field is set. Source: `v1.Volume`. */
export interface Volume {
  readonly name: string;
  readonly emptyDir?: { readonly medium?: string | undefined; readonly sizeLimit?: string | undefined } | undefined;
  readonly hostPath?: { readonly path: string; readonly type?: string | undefined } | undefined;
  readonly configMap?: (ConfigMapSource & WithDefaultMode) | undefined;
  readonly secret?: (SecretSource & WithDefaultMode) | undefined;
  readonly downwardAPI?: (DownwardAPISource & WithDefaultMode) | undefined;
  readonly image?: { readonly reference?: string | undefined; readonly pullPolicy?: string | undefined } | undefined;
  readonly projected?: (WithDefaultMode & { readonly sources?: readonly VolumeProjection[] | undefined }) | undefined;
}

export function volumesOf({ spec }: Pod): readonly Volume[] {
  return (spec as { readonly volumes?: readonly Volume[] } | undefined)?.volumes ?? [];
}

/** The pod's `fsGroup`: the group of its volumes. */
export function fsGroupOf({ spec }: Pod): number | undefined {
  const { securityContext } = (spec ?? {}) as { readonly securityContext?: { readonly fsGroup?: number } };
  return securityContext?.fsGroup ?? undefined;
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
