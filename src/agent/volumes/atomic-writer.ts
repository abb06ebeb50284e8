import { timeFromEpochMs } from '../../shared/time.ts';
import {
  type FileProjection,
  type HostDirectory,
  readAll,
  removeAll,
  undefinedIfMissing,
  type VolumePayload,
  walk,
} from '../../node/index.ts';

const dataName = '..data';
const newDataName = '..data_tmp';

/**
 * Replaces the files of a volume atomically: a reader sees all old or all new files. The files are in a timestamped
 * directory, `..data` links to that directory, and the names that containers see link into `..data`. Resolves with true
 * if anything was written. `setOwnership` is called before the new files can be seen. Rejects when `signal` is aborted: the
 * old files stay then. Only one call at a time may write a volume. Source: kubelet `AtomicWriter`.
 */
export async function writeAtomically(
  volume: HostDirectory,
  payload: VolumePayload,
  {
    nowMs,
    setOwnership,
    signal,
  }: { readonly nowMs: number; readonly setOwnership: () => Promise<void>; readonly signal: AbortSignal },
): Promise<boolean> {
  const previous = await volume.readlink(dataName).catch(undefinedIfMissing);
  const isWritten = previous !== undefined && (await hasFiles(volume, previous, payload));
  if (!isWritten) {
    const time = timeFromEpochMs(nowMs).slice(0, 19).replaceAll(/[-:T]/g, '_');
    const name = `..${time}.${volume.files.entropy.bytes(5).toString('hex')}`;
    try {
      const write = async (folder: HostDirectory): Promise<void> => {
        for (const [path, file] of payload) {
          signal.throwIfAborted();
          await writeProjection(folder, path, file);
        }
      };
      signal.throwIfAborted();
      await volume.within([name], write, 0o755);
      await setOwnership();
      signal.throwIfAborted();
      await volume.unlink(newDataName).catch(undefinedIfMissing);
      await volume.symlink(name, newDataName);
      signal.throwIfAborted();
      await volume.rename(newDataName, volume, dataName);
    } catch (error) {
      await removeAll(volume, name);
      throw error;
    }
  }
  await linkVisibleNames(volume, new Set([...payload.keys()].map((path) => path.split('/')[0] ?? '')));
  if (!isWritten && previous !== undefined) await removeAll(volume, previous);
  return !isWritten;
}

async function writeProjection(
  folder: HostDirectory,
  path: string,
  { data, mode, uid }: FileProjection,
): Promise<void> {
  const names = path.split('/');
  const write = async (parent: HostDirectory): Promise<void> => {
    const file = await parent.createFile(names.at(-1)!, 0o600);
    try {
      await file.writeFile(data);
      if (uid !== undefined) await file.chown(uid, -1);
      await file.chmod(mode);
    } finally {
      await file.close();
    }
  };
  await folder.within(names.slice(0, -1), write, 0o755);
}

/** Whether a folder has exactly these files, with this content. */
async function hasFiles(volume: HostDirectory, name: string, payload: VolumePayload): Promise<boolean> {
  const compare = async (folder: HostDirectory): Promise<boolean> => {
    let count = 0;
    await walk(folder, (_, __, stats) => void (count += stats.isDirectory() ? 0 : 1));
    if (count !== payload.size) return false;
    for (const [path, { data }] of payload) if (!(await hasFile(folder, path.split('/'), data))) return false;
    return true;
  };
  return (await volume.within([name], compare).catch(undefinedIfMissing)) ?? false;
}

async function hasFile(folder: HostDirectory, names: readonly string[], data: Buffer): Promise<boolean> {
  const open = (parent: HostDirectory): ReturnType<HostDirectory['openFile']> => parent.openFile(names.at(-1)!);
  const file = await folder.within(names.slice(0, -1), open).catch(undefinedIfMissing);
  return file !== undefined && (await readAll(file, Number.MAX_SAFE_INTEGER)).equals(data);
}

async function linkVisibleNames(volume: HostDirectory, names: ReadonlySet<string>): Promise<void> {
  for (const name of names) {
    const existing = await volume.stats(name).catch(undefinedIfMissing);
    if (existing === undefined) await volume.symlink(`${dataName}/${name}`, name);
  }
  for await (const entry of volume.entries()) {
    const name = entry.name.toString();
    if (entry.isSymbolicLink() && !name.startsWith('..') && !names.has(name)) await volume.unlink(entry.name);
  }
}
