import { readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

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
