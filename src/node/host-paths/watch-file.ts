import { watch } from 'node:fs';
import { basename, dirname } from 'node:path';

/**
 * Calls `onChange` when the file at a path changes or is replaced, until the returned function is called. There may be no
 * notifications, for example at the machine's limit of watches.
 */
export function watchFile(path: string, onChange: () => void): () => void {
  const name = basename(path);
  try {
    const watcher = watch(dirname(path), (_, changed) => {
      if (changed === null || changed === name) onChange();
    });
    watcher.on('error', () => watcher.close());
    return () => watcher.close();
  } catch {
    return () => {};
  }
}
