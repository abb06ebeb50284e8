import { firstBy } from '../../shared/by-field.ts';
import { join } from 'node:path';
import { podSpecOf } from '../../kube/objects/kube-object.ts';
import type { Container, EphemeralContainer, Pod, VolumeMount } from '../../kube/objects/types.ts';
import {
  ContainerConfigError,
  type ContainerMount,
  type EnvironmentVariable,
  expandReferences,
  ExpansionLimit,
  HostDirectory,
  type HostFiles,
  makingUntil,
  isReadOnlySource,
  podDirectoryNames,
  type Volume,
  volumePath,
  volumesOf,
} from '../../node/index.ts';
import { managedHostsFileContent, nodeHostsFileContent } from '../container-options/hosts-file.ts';
import type { PodHostName } from '../container-options/pod-host-name.ts';
import { readRegularFile } from '../../shared/regular-file.ts';
import { bindSubPath, makeSubPath } from './sub-path.ts';

const etcHosts = '/etc/hosts';
const maxHostsFileBytes = 1024 * 1024;

/** Inputs for the mounts of a container, in addition to its pod. */
export interface MountSources {
  readonly files: HostFiles;
  readonly rootDirectory: string;
  /** False: subPaths are not bind mounts, and `/etc/hosts` is the machine's. */
  readonly mounts: boolean;
  readonly podIPs: readonly string[];
  readonly hostName: PodHostName;
  readonly supportsRecursiveReadOnly: boolean;
  /** The references of images, by the name of the volume. */
  readonly imageVolumes?: ReadonlyMap<string, string> | undefined;
  /** For `subPathExpr`. */
  readonly envs: readonly EnvironmentVariable[];
  /** Once it is aborted, nothing is created or mounted. */
  readonly signal: AbortSignal;
}

type SubPathMount = VolumeMount & { readonly subPath?: string; readonly subPathExpr?: string };

/** The mounts of a container, with `/etc/hosts`. Source: kubelet `makeMounts`. @throws ContainerConfigError */
export async function makeMounts(
  pod: Pod,
  container: Container | EphemeralContainer,
  given: MountSources,
): Promise<ContainerMount[]> {
  const sources = { ...given, files: makingUntil(given.files, given.signal) };
  const volumeMounts = (container.volumeMounts ?? []) as readonly SubPathMount[];
  const mounts: ContainerMount[] = [];
  const volumeByName = firstBy(volumesOf(pod), 'name');
  for (const [index, mount] of volumeMounts.entries()) {
    const volume = volumeByName.get(mount.name);
    if (volume === undefined)
      throw new ContainerConfigError(
        `cannot find volume ${JSON.stringify(mount.name)} to mount into container ${JSON.stringify(container.name)}`,
      );
    const recursiveReadOnly = resolveRecursiveReadOnly(mount, sources.supportsRecursiveReadOnly);
    const subPath = mount.subPathExpr ? expandSubPath(mount.subPathExpr, sources.envs) : (mount.subPath ?? '');
    requireDescendingSubPath(subPath);
    const source = volume.image
      ? { hostPath: '', image: imageOf(volume, subPath, sources) }
      : { hostPath: await hostPathOf(pod, container.name, index, volume, subPath, sources) };
    mounts.push({
      containerPath: mount.mountPath.startsWith('/') ? mount.mountPath : `/${mount.mountPath}`,
      ...source,
      readOnly: mount.readOnly === true || isReadOnlySource(volume),
      recursiveReadOnly,
      // The administrator labels a hostPath, and the runtime an image.
      seLinuxRelabel: !volume.hostPath && !volume.image,
      propagation: translateMountPropagation(mount.mountPropagation),
    });
  }
  const needsHosts = sources.mounts && (sources.podIPs.length > 0 || pod.spec?.hostNetwork === true);
  if (needsHosts && !volumeMounts.some(({ mountPath }) => mountPath === etcHosts))
    mounts.push({ containerPath: etcHosts, hostPath: await ensureHostsFile(pod, sources), seLinuxRelabel: true });
  return mounts;
}

/** Source: kubelet `translateMountPropagation`. */
function translateMountPropagation(mode = 'None'): NonNullable<ContainerMount['propagation']> {
  if (mode === 'None') return 'PROPAGATION_PRIVATE';
  if (mode === 'HostToContainer') return 'PROPAGATION_HOST_TO_CONTAINER';
  if (mode === 'Bidirectional') return 'PROPAGATION_BIDIRECTIONAL';
  throw new ContainerConfigError(`invalid MountPropagation mode: ${JSON.stringify(mode)}`);
}

/** Source: kubelet `resolveRecursiveReadOnly`. */
function resolveRecursiveReadOnly(
  { name, readOnly, mountPropagation = 'None', recursiveReadOnly = 'Disabled' }: VolumeMount,
  isSupported: boolean,
): boolean {
  if (recursiveReadOnly === 'Disabled') return false;
  const refuse = (why: string): never => {
    throw new ContainerConfigError(
      `failed to resolve recursive read-only mode: volume ${JSON.stringify(name)} requested recursive read-only mode, but it is ${why}`,
    );
  };
  if (readOnly !== true) refuse('not read-only');
  if (mountPropagation !== 'None') refuse(`not compatible with propagation ${JSON.stringify(mountPropagation)}`);
  if (!isSupported && recursiveReadOnly !== 'IfPossible') refuse('not supported by the runtime');
  return isSupported;
}

/** Source: kubelet `ExpandContainerVolumeMounts`. */
function expandSubPath(expression: string, envs: readonly EnvironmentVariable[]): string {
  const values = new Map(envs.map(({ name, value }) => [name, value]));
  const missing = new Set<string>();
  const valueOf = (name: string): string => {
    if (!values.get(name)) missing.add(name);
    return values.get(name) ?? '';
  };
  const expanded = expandReferences(expression, valueOf, new ExpansionLimit());
  if (missing.size > 0) throw new ContainerConfigError(`missing value for ${[...missing].toSorted().join(', ')}`);
  return expanded;
}

function requireDescendingSubPath(subPath: string): void {
  if (subPath.startsWith('/'))
    throw new ContainerConfigError(`error SubPath \`${subPath}\` must not be an absolute path`);
  if (subPath.split('/').includes('..'))
    throw new ContainerConfigError(`unable to provision SubPath \`${subPath}\`: must not contain '..'`);
}

function imageOf(
  { name, image }: Volume,
  subPath: string,
  { imageVolumes }: MountSources,
): NonNullable<ContainerMount['image']> {
  const imageRef = imageVolumes?.get(name);
  if (imageRef === undefined)
    throw new ContainerConfigError(`the runtime does not pull the image of volume ${JSON.stringify(name)}`);
  return { imageRef, userSpecifiedImage: image?.reference ?? '', subPath };
}

async function hostPathOf(
  pod: Pod,
  containerName: string,
  index: number,
  volume: Volume,
  subPath: string,
  { files, rootDirectory, mounts, signal }: MountSources,
): Promise<string> {
  const path = volumePath(rootDirectory, pod, volume);
  if (subPath === '') return path;
  const folder = [...podDirectoryNames(pod), 'volume-subpaths', volume.name, containerName];
  signal.throwIfAborted();
  try {
    if (!mounts) return await makeSubPath(files, path, subPath);
    return await bindSubPath(files, path, subPath, { rootDirectory, folder, name: String(index), signal });
  } catch (cause) {
    // The error has no details, because they could reveal host paths to the pod.
    throw new ContainerConfigError(
      `failed to prepare subPath for volumeMount ${JSON.stringify(volume.name)} of container ${JSON.stringify(containerName)}`,
      { cause },
    );
  }
}

/** Source: kubelet `ensureHostsFile`. */
async function ensureHostsFile(
  pod: Pod,
  { files, rootDirectory, podIPs, hostName, signal }: MountSources,
): Promise<string> {
  const { hostAliases, hostNetwork } = podSpecOf(pod);
  const content = hostNetwork
    ? nodeHostsFileContent((await readRegularFile(etcHosts, maxHostsFileBytes, files)).toString(), hostAliases)
    : managedHostsFileContent(podIPs, hostName, hostAliases);
  const names = podDirectoryNames(pod);
  signal.throwIfAborted();
  await HostDirectory.use(files, rootDirectory, names, (folder) => folder.writeFile('etc-hosts', content, 0o644));
  return join(rootDirectory, ...names, 'etc-hosts');
}
