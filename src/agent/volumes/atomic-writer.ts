import {
  chmod,
  chown,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { timeFromEpochMs } from '../../shared/time.ts';
import type { FileProjection, VolumePayload } from './volume-payload.ts';

const dataName = '..data';
const newDataName = '..data_tmp';

/**
 * Replaces the files of a volume atomically: a reader sees all old or all new files. The files are in a timestamped
 * directory, `..data` links to that directory, and the names that containers see link into `..data`. Resolves with true
 * if anything was written. `setOwnership` is called before the new files can be seen. Source: kubelet `AtomicWriter`.
 */
export async function writeAtomically(
  volume: string,
  payload: VolumePayload,
  { nowMs, setOwnership }: { readonly nowMs: number; readonly setOwnership: () => Promise<void> },
): Promise<boolean> {
  const previous = await readlink(join(volume, dataName)).catch(undefinedIfMissing);
  const isWritten = previous !== undefined && (await hasFiles(join(volume, previous), payload));
  if (!isWritten) {
    const time = timeFromEpochMs(nowMs).slice(0, 19).replaceAll(/[-:T]/g, '_');
    const folder = await mkdtemp(join(volume, `..${time}.`));
    try {
      await chmod(folder, 0o755);
      for (const [path, file] of payload) await writeProjection(join(folder, path), file);
      await setOwnership();
      await rm(join(volume, newDataName), { force: true });
      await symlink(folder.slice(volume.length + 1), join(volume, newDataName));
      await rename(join(volume, newDataName), join(volume, dataName));
    } catch (error) {
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
  }
  await linkVisibleNames(volume, new Set([...payload.keys()].map((path) => path.split('/')[0] ?? '')));
  if (!isWritten && previous !== undefined) await rm(join(volume, previous), { recursive: true, force: true });
  return !isWritten;
}

async function writeProjection(path: string, { data, mode, uid }: FileProjection): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o755 });
  await writeFile(path, data, { mode: 0o600 });
  if (uid !== undefined) await chown(path, uid, -1);
  await chmod(path, mode);
}

/** Whether a folder has exactly these files, with this content. */
async function hasFiles(folder: string, payload: VolumePayload): Promise<boolean> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(undefinedIfMissing);
  const paths = entries?.filter((entry) => !entry.isDirectory()).map(({ parentPath, name }) => join(parentPath, name));
  if (paths?.length !== payload.size) return false;
  for (const [path, { data }] of payload) {
    const written = await readFile(join(folder, path)).catch(undefinedIfMissing);
    if (written === undefined || !written.equals(data)) return false;
  }
  return true;
}

async function linkVisibleNames(volume: string, names: ReadonlySet<string>): Promise<void> {
  for (const name of names) {
    const existing = await lstat(join(volume, name)).catch(undefinedIfMissing);
    if (existing === undefined) await symlink(join(dataName, name), join(volume, name));
  }
  for (const entry of await readdir(volume, { withFileTypes: true }))
    if (entry.isSymbolicLink() && !entry.name.startsWith('..') && !names.has(entry.name))
      await rm(join(volume, entry.name));
}

function undefinedIfMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
