import { readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** How many runs have left a log, rotated ones included: the restart count of the next run. Source: kubelet `calcRestartCountByLogDir`. */
export async function calcRestartCountByLogDir(directory: string): Promise<number> {
  const names = await readdir(directory).catch(() => []);
  const runs = names.map((name) => /^(\d{1,9})\.log(?:\..*)?$/.exec(name)?.[1]).filter((run) => run !== undefined);
  return Math.max(0, ...runs.map((run) => Number(run) + 1));
}

/** The log of one run, and what its rotation has left. Source: kubelet `removeContainerLog`. */
export async function removeLogs(path: string): Promise<void> {
  const prefix = `${basename(path)}.`;
  const names = await readdir(dirname(path)).catch(() => []);
  const rotated = names.filter((name) => name.startsWith(prefix)).map((name) => join(dirname(path), name));
  await Promise.all([path, ...rotated].map((file) => rm(file, { force: true })));
}
