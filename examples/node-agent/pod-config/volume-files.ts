import { createHash } from 'node:crypto';
import { mkdir, readdir, readlink, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** A file in a volume. */
export interface VolumeFile {
  readonly data: Buffer;
  /** Permission bits. */
  readonly mode: number;
}

/**
 * Replaces the files of a volume atomically: no process sees old files together with new
 * ones. The files are in a directory that `..data` links to, and each name in the volume links there.
 * @param files by their paths in the volume
 * Source: kubelet `AtomicWriter`.
 */
export async function writeVolumeFiles(directory: string, files: ReadonlyMap<string, VolumeFile>): Promise<void> {
  const dataLink = join(directory, '..data');
  const previous = await readlink(dataLink).catch(() => undefined);
  const current = `..${digest(files)}`;
  if (previous === current) return;

  const dataDirectory = join(directory, current);
  await rm(dataDirectory, { recursive: true, force: true });
  await mkdir(dataDirectory, { recursive: true, mode: 0o700 });
  for (const [path, { data, mode }] of files) {
    const file = join(dataDirectory, path);
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await writeFile(file, data, { mode });
  }
  await rm(`${dataLink}.new`, { force: true });
  await symlink(current, `${dataLink}.new`);
  await rename(`${dataLink}.new`, dataLink);

  const names = new Set([...files.keys()].map((path) => path.split('/')[0]!));
  const present = new Set(await readdir(directory));
  for (const name of names) if (!present.has(name)) await symlink(join('..data', name), join(directory, name));
  for (const name of present) if (!name.startsWith('..') && !names.has(name)) await rm(join(directory, name));
  if (previous !== undefined) await rm(join(directory, previous), { recursive: true, force: true });
}

function digest(files: ReadonlyMap<string, VolumeFile>): string {
  const hash = createHash('sha256');
  for (const [path, { data, mode }] of files) hash.update(`${path}\0${mode}\0${data.length}\0`).update(data);
  return hash.digest('hex');
}
