import { mkdir, readdir, rm, stat, symlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { ValidPod } from '../kube/types.ts';
import { type Logger, reasonOf } from '../shared/logger.ts';

/**
 * The restart count of the next run: one more than the highest one in the log files, including rotated ones. Source:
 * kubelet `calcRestartCountByLogDir`.
 */
export async function calcRestartCountByLogDir(directory: string): Promise<number> {
  const names = await readdir(directory).catch(() => []);
  const runs = names.map((name) => /^(\d{1,9})\.log(?:\..*)?$/.exec(name)?.[1]).filter((run) => run !== undefined);
  return Math.max(0, ...runs.map((run) => Number(run) + 1));
}

/** Removes the log of one run and its rotated files. Source: kubelet `removeContainerLog`. */
export async function removeLogs(path: string): Promise<void> {
  const prefix = `${basename(path)}.`;
  const names = await readdir(dirname(path)).catch(() => []);
  const rotated = names.filter((name) => name.startsWith(prefix)).map((name) => join(dirname(path), name));
  await Promise.all([path, ...rotated].map((file) => rm(file, { force: true })));
}

/** The length of a file name in most file systems. Source: kubelet `ext4MaxFileNameLen`. */
const maxFileNameLength = 255;

/**
 * The name of the link to a log in `/var/log/containers`, which log collectors read. Source: kubelet `legacyLogSymlink`.
 */
export function logLinkName(
  { metadata: { name, namespace } }: ValidPod,
  containerName: string,
  containerID: string,
): string {
  return `${`${name}_${namespace}_${containerName}-${containerID}`.slice(0, maxFileNameLength - '.log'.length)}.log`;
}

/** Links to a log, if the log exists. */
export async function linkLog(link: string, log: string): Promise<void> {
  if (!(await exists(log))) return;
  await mkdir(dirname(link), { recursive: true, mode: 0o755 });
  await symlink(log, link);
}

export interface LogFolders {
  readonly podLogsDirectory: string;
  /** Of the links. */
  readonly containerLogsDirectory: string;
  /** False while the container may write a new log: its old one is being rotated. */
  readonly isDead: (containerID: string) => Promise<boolean>;
  readonly logger: Logger;
}

/**
 * Removes the logs of pods that need no data any more, and links to logs that do not exist. Failures are logged. Source:
 * kubelet `evictPodLogsDirectories`.
 */
export async function evictPodLogsDirectories(
  { podLogsDirectory, containerLogsDirectory, isDead, logger }: LogFolders,
  shouldPodContentBeRemoved: (podUID: string) => boolean,
): Promise<void> {
  const attempt = async (path: string, work: () => Promise<unknown>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      logger.warn({ path, reason: reasonOf(error) }, 'Failed to remove old logs');
    }
  };
  for (const name of await readdir(podLogsDirectory).catch(() => [])) {
    const podUID = /^[^_]+_[^_]+_([^_]+)$/.exec(name)?.[1];
    if (podUID === undefined || !shouldPodContentBeRemoved(podUID)) continue;
    const path = join(podLogsDirectory, name);
    await attempt(path, () => rm(path, { recursive: true, force: true }));
  }
  for (const name of await readdir(containerLogsDirectory).catch(() => [])) {
    const containerID = /-([^-]{6,})\.log$/.exec(name)?.[1];
    const path = join(containerLogsDirectory, name);
    if (containerID === undefined || (await exists(path))) continue;
    await attempt(path, async () => {
      if (await isDead(containerID)) await rm(path, { force: true });
    });
  }
}

/** Follows links. */
async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
