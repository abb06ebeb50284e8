import { join } from 'node:path';
import { HostDirectory, type HostFiles } from '../node/index.ts';
import type { KubeObject } from '../kube/objects/kube-object.ts';
import type { ValidPod } from '../kube/objects/types.ts';
import { calcRestartCountByLogDir, logLinksDirectory } from './log-files.ts';
import type { CRIRequest } from './cri-messages.ts';
import { podLogsDirectoryName } from './labels.ts';

export interface ContainerFolders {
  readonly rootDirectory: string;
  readonly podLogsDirectory: string;
}

/** The files that a run of a container needs before it is created. */
export interface PreparedContainerFiles {
  /** The restart count that follows from the logs of earlier runs. */
  readonly nextRun: number;
  readonly terminationMessageMounts: readonly CRIRequest<'Mount'>[];
}

/** The folder of a container's logs. Source: kubelet `BuildContainerLogsDirectory`. */
export function buildContainerLogsDirectory(podLogsDirectory: string, pod: ValidPod, containerName: string): string {
  return join(podLogsDirectory, podLogsDirectoryName(pod), containerName);
}

export async function makeContainerFiles(
  files: HostFiles,
  pod: ValidPod,
  container: KubeObject<'Container'>,
  { rootDirectory, podLogsDirectory }: ContainerFolders,
): Promise<PreparedContainerFiles> {
  const logs = buildContainerLogsDirectory(podLogsDirectory, pod, container.name);
  const [nextRun, terminationMessageMounts] = await Promise.all([
    calcRestartCountByLogDir(files, logs),
    makeTerminationMessageMounts(files, pod, container, rootDirectory),
    makeLogFolder(files, podLogsDirectory, podLogsDirectoryName(pod), container.name),
    makeLogFolder(files, logLinksDirectory(podLogsDirectory)),
  ]);
  return { nextRun, terminationMessageMounts };
}

/** A file of its own for each run of a container. Source: kubelet `makeMounts`. */
async function makeTerminationMessageMounts(
  files: HostFiles,
  { metadata }: ValidPod,
  { name, terminationMessagePath }: KubeObject<'Container'>,
  rootDirectory: string,
): Promise<CRIRequest<'Mount'>[]> {
  if (!terminationMessagePath) return [];
  const names = ['pods', metadata.uid, 'containers', name];
  const fileName = files.entropy.uuid().slice(0, 8);
  const folder = await HostDirectory.make(files, rootDirectory, names, 0o750);
  // Any user of a container may write it.
  await folder.closedAfter(() => folder.writeFile(fileName, '', 0o666));
  const path = join(rootDirectory, ...names, fileName);
  return [{ container_path: terminationMessagePath, host_path: path, selinux_relabel: true }];
}

export async function makeLogFolder(files: HostFiles, path: string, ...names: readonly string[]): Promise<void> {
  await (await HostDirectory.make(files, path, names, 0o755)).close();
}
