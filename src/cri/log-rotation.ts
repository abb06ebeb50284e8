import { pipeline } from 'node:stream/promises';
import { codeOf, type HostDirectory, type HostFiles, undefinedIfMissing, useLogFolder } from '../node/index.ts';
import { timeFromEpochMs } from '../shared/time.ts';

export interface RotationOptions {
  /** How many files a log may have, including the one that the container writes to; at least 2. */
  readonly maxFiles: number;
  readonly epochMs: number;
}

/** In bytes; undefined if the log is missing. */
export async function logSize(files: HostFiles, path: string): Promise<number | undefined> {
  return useLogFolder(files, path, async (folder, log) => {
    const stats = await folder.stats(log).catch(undefinedIfMissing);
    return stats && Number(stats.size);
  });
}

/**
 * Renames `0.log` to `0.log.20260102-030405`, which is returned, and compresses the files of earlier rotations. The oldest
 * files are removed.
 */
export async function rotateLog(
  files: HostFiles,
  path: string,
  { maxFiles, epochMs }: RotationOptions,
): Promise<string> {
  return useLogFolder(files, path, async (folder, log) => {
    const { inUse, unused } = await rotatedLogs(folder, log);
    // The log itself and the file that it becomes also count. The oldest files are removed first.
    const excess = inUse.slice(0, Math.max(0, inUse.length - (maxFiles - 2)));
    for (const file of [...unused, ...excess]) await folder.unlink(file);
    for (const file of inUse.slice(excess.length)) if (!file.endsWith('.gz')) await compress(folder, file);
    const rotated = `${log}.${timestamp(epochMs)}`;
    await folder.rename(log, folder, rotated);
    return rotated;
  });
}

/**
 * Renames a log back, because the container still writes to it. Does nothing if there is a new log: the runtime may have
 * opened it although its response was lost.
 */
export async function restoreLog(files: HostFiles, path: string, rotated: string): Promise<void> {
  await useLogFolder(files, path, async (folder, log) => {
    try {
      // Unlike `rename`, it never replaces a log.
      await folder.link(rotated, log);
    } catch (error) {
      if (codeOf(error) === 'EEXIST') return;
      throw error;
    }
    await folder.unlink(rotated);
  });
}

/** The rotated files of a log, oldest first; those of interrupted compressions are unused. */
async function rotatedLogs(
  folder: HostDirectory,
  log: string,
): Promise<{ readonly inUse: string[]; readonly unused: string[] }> {
  const names: string[] = [];
  for await (const entry of folder.entries()) names.push(entry.name.toString());
  const rotated = names.filter((name) => name.startsWith(`${log}.`)).toSorted();
  const isInUse = (name: string): boolean =>
    name.endsWith('.gz') || !(name.endsWith('.tmp') || rotated.includes(`${name}.gz`));
  return { inUse: rotated.filter(isInUse), unused: rotated.filter((name) => !isInUse(name)) };
}

async function compress(folder: HostDirectory, file: string): Promise<void> {
  const temporary = `${file}.tmp`;
  const source = await folder.openFile(file);
  try {
    const { mode } = await source.stat();
    const target = await folder.createFile(temporary, mode & 0o777);
    await pipeline(source.createReadStream({ autoClose: false }), folder.files.gzip(), target.createWriteStream());
    await folder.rename(temporary, folder, `${file}.gz`);
    await folder.unlink(file);
  } catch (error) {
    await folder.unlink(temporary).catch(undefinedIfMissing);
    throw error;
  } finally {
    await source.close();
  }
}

/** `20260102-030405` */
function timestamp(epochMs: number): string {
  return timeFromEpochMs(epochMs).replaceAll(/[-:Z]/g, '').replace('T', '-');
}
