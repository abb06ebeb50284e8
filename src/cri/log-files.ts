import { basename, dirname, join } from 'node:path';
import {
  codeOf,
  exists,
  HostDirectory,
  type HostFiles,
  removeAll,
  undefinedIfMissing,
  useLogFolder,
} from '../node/index.ts';
import type { ValidPod } from '../kube/objects/types.ts';
import { type Logger, reasonOf } from '../shared/logger.ts';

/**
 * The restart count of the next run: one more than the highest one in the log files, including rotated ones. Source:
 * kubelet `calcRestartCountByLogDir`.
 */
export async function calcRestartCountByLogDir(files: HostFiles, directory: string): Promise<number> {
  const names = await namesIn(files, directory);
  const runs = names.map((name) => /^(\d{1,9})\.log(?:\..*)?$/.exec(name)?.[1]).filter((run) => run !== undefined);
  return runs.reduce((next, run) => Math.max(next, Number(run) + 1), 0);
}

/** Removes the log of one run and its rotated files. Source: kubelet `removeContainerLog`. */
export async function removeLogs(files: HostFiles, path: string): Promise<void> {
  const removing = useLogFolder(files, path, async (folder, log) => {
    for await (const { name } of folder.entries())
      if (name.toString() === log || name.toString().startsWith(`${log}.`))
        await folder.unlink(name).catch(undefinedIfMissing);
  });
  await removing.catch(undefinedIfMissing);
}

/** `/var/log/containers` beside `/var/log/pods`. Source: kubelet `ContainerLogsDir`. */
export function logLinksDirectory(podLogsDirectory: string): string {
  return join(dirname(podLogsDirectory), 'containers');
}

/** The length of a file name in most file systems. Source: kubelet `ext4MaxFileNameLen`. */
const maxFileNameLength = 255;

/**
 * The name of the link to a log in `/var/log/containers`, which log collectors read. Source: kubelet `legacyLogSymlink`.
 */
export function logLinkName(
  { name, namespace }: Pick<ValidPod['metadata'], 'name' | 'namespace'>,
  containerName: string,
  containerID: string,
): string {
  return `${`${name}_${namespace}_${containerName}-${containerID}`.slice(0, maxFileNameLength - '.log'.length)}.log`;
}

/** Links to a log unless the link exists; false if the log does not exist. The link's folder must exist. */
export async function linkLog(files: HostFiles, link: string, log: string): Promise<boolean> {
  if (!(await exists(files, log))) return false;
  try {
    await HostDirectory.use(files, dirname(link), [], (folder) => folder.symlink(log, basename(link)));
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
  return true;
}

export interface LogUsage {
  readonly usedBytes: number;
  readonly inodesUsed: number;
}

export interface LogFolders {
  readonly podLogsDirectory: string;
  /** The containers that have not exited. They may write a new log: the old one is being rotated. */
  readonly listLiveContainers: () => Promise<ReadonlySet<string>>;
  readonly logger: Logger;
}

/**
 * Removes the logs of pods whose data is no longer needed, and links to logs that do not exist. Failures are logged. Source:
 * kubelet `evictPodLogsDirectories`.
 */
export async function evictPodLogsDirectories(
  files: HostFiles,
  { podLogsDirectory, listLiveContainers, logger }: LogFolders,
  shouldPodContentBeRemoved: (podUID: string) => boolean,
): Promise<void> {
  const linksDirectory = logLinksDirectory(podLogsDirectory);
  const attempt = async (path: string, work: () => Promise<unknown>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      logger.warn({ path, reason: reasonOf(error) }, 'Failed to remove old logs');
    }
  };
  for (const name of await namesIn(files, podLogsDirectory)) {
    const podUID = /^[^_]+_[^_]+_([^_]+)$/.exec(name)?.[1];
    if (podUID === undefined || !shouldPodContentBeRemoved(podUID)) continue;
    const path = join(podLogsDirectory, name);
    await attempt(path, () => HostDirectory.use(files, podLogsDirectory, [], (folder) => removeAll(folder, name)));
  }
  const links: (readonly [name: string, containerID: string])[] = [];
  for (const name of await namesIn(files, linksDirectory)) {
    const containerID = /-([^-]{6,})\.log$/.exec(name)?.[1];
    if (containerID !== undefined && !(await exists(files, join(linksDirectory, name))))
      links.push([name, containerID]);
  }
  if (links.length === 0) return;
  await attempt(linksDirectory, async () => {
    const live = await listLiveContainers();
    for (const [name, containerID] of links)
      if (!live.has(containerID))
        await attempt(join(linksDirectory, name), () =>
          HostDirectory.use(files, linksDirectory, [], (folder) => removeAll(folder, name)),
        );
  });
}

/** The disk usage of a container's log files and their folder. Source: kubelet `getPodContainerLogStats`. */
export async function logUsage(
  files: HostFiles,
  podLogsDirectory: string,
  names: readonly string[],
): Promise<LogUsage> {
  let [usedBytes, inodesUsed] = [0, 1];
  await HostDirectory.use(files, podLogsDirectory, names, async (folder) => {
    for await (const { name } of folder.entries()) {
      usedBytes += Number((await folder.stats(name)).blocks) * 512;
      inodesUsed += 1;
    }
  });
  return { usedBytes, inodesUsed };
}

/** Empty if the folder cannot be read. */
async function namesIn(files: HostFiles, path: string): Promise<string[]> {
  const names: string[] = [];
  const list = async (folder: HostDirectory): Promise<void> => {
    for await (const { name } of folder.entries()) names.push(name.toString());
  };
  await HostDirectory.use(files, path, [], list).catch(() => {});
  return names;
}
