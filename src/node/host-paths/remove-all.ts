import { codeOf, undefinedIfMissing } from './error-code.ts';
import type { EntryName, HostDirectory } from './host-directory.ts';

/**
 * Removes an entry with everything in it, at any depth; does nothing if it is missing. Follows no link, and removes neither
 * a mount point nor what is mounted there. Rejects if something is left, after everything else has been removed. When the
 * signal is aborted, the rest stays.
 *
 * A directory that is not empty is moved up to the outermost one before it is emptied. So at most two directories are open,
 * no path is long, and the kernel refuses to move mount points. Source: kubelet `os.RemoveAll`.
 */
export async function removeAll(parent: HostDirectory, name: EntryName, signal?: AbortSignal): Promise<void> {
  if (await isRemoved(parent, name)) return;
  const root = await parent.child(name).catch(undefinedIfMissing);
  if (root === undefined) return;
  await root.closedAfter(() => emptyDirectory(root, signal));
  await parent.rmdir(name).catch(undefinedIfMissing);
}

async function emptyDirectory(root: HostDirectory, signal: AbortSignal | undefined): Promise<void> {
  for (;;) {
    let hasProgress = false;
    let failure: Error | undefined;
    const attempt = async (work: () => Promise<void>): Promise<void> => {
      signal?.throwIfAborted();
      try {
        await work();
        hasProgress = true;
      } catch (error) {
        // Another process has just removed it, or it was listed before it was moved.
        if (codeOf(error) !== 'ENOENT') failure ??= error as Error;
      }
    };
    for await (const { name } of root.entries())
      await attempt(async () => {
        if (await isRemoved(root, name)) return;
        // Rejects for a mount point.
        const own = await moveUp(root, name, root);
        const directory = await root.child(own);
        await directory.closedAfter(async () => {
          for await (const entry of directory.entries())
            await attempt(async () => {
              if (!(await isRemoved(directory, entry.name))) await moveUp(directory, entry.name, root);
            });
        });
        await root.rmdir(own);
      });
    // What was moved up or added in the meantime need not have been listed.
    if (hasProgress) continue;
    if (failure !== undefined) throw failure;
    return;
  }
}

async function moveUp(directory: HostDirectory, name: EntryName, root: HostDirectory): Promise<string> {
  const newName = directory.files.entropy.uuid();
  await directory.rename(name, root, newName);
  return newName;
}

/** False for a directory that is not empty. */
async function isRemoved(directory: HostDirectory, name: EntryName): Promise<boolean> {
  try {
    await directory.unlink(name);
    return true;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return true;
    // For a directory: Linux, macOS.
    if (codeOf(error) !== 'EISDIR' && codeOf(error) !== 'EPERM') throw error;
  }
  try {
    await directory.rmdir(name);
    return true;
  } catch (error) {
    if (codeOf(error) === 'ENOTEMPTY') return false;
    undefinedIfMissing(error);
    return true;
  }
}
