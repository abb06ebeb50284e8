import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Containerd } from '../support/node/containerd.ts';
import { missingRequirements } from '../support/node/requirements.ts';
import { runCommand } from '../support/run-command.ts';

/** The socket of a runtime that is already running, for example CRI-O, in place of a containerd of the tests' own. */
export const otherRuntime = process.env['CRI_ENDPOINT'];

/** Why the tests on containerd cannot run here; undefined if they can. */
export function whyNoContainerd(): string | undefined {
  if (process.getuid?.() !== 0) return 'it needs root';
  if (otherRuntime !== undefined) return undefined;
  return missingRequirements()[0];
}

/**
 * A containerd of its own, with the images of tests.
 *
 * @param index of its bridge, so that tests do not share one
 */
export async function startContainerd(index = 7): Promise<{ endpoint: string; folder: string; stop(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'containerd-'));
  if (otherRuntime !== undefined)
    return { endpoint: otherRuntime, folder, stop: () => rm(folder, { recursive: true, force: true, maxRetries: 10 }) };
  const containerd = new Containerd(folder, index);
  await containerd.startWithImages();
  return {
    endpoint: containerd.endpoint,
    folder,
    stop: async () => {
      await removeContainers(containerd, folder);
      await containerd.stop('SIGTERM');
      await rm(folder, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}

/** Containers that a failed test left would keep their mounts, so that the folder could not be removed. */
async function removeContainers({ socket }: Containerd, folder: string): Promise<void> {
  const ctr = (...args: string[]) => runCommand('ctr', ['-a', socket, '-n', 'k8s.io', ...args]);
  const listTasks = async (): Promise<string[]> => (await ctr('tasks', 'ls', '-q')).split('\n').filter(Boolean);
  for (const task of await listTasks())
    try {
      await ctr('tasks', 'rm', '--force', task);
    } catch (error) {
      // A container in the process namespace of another one ends with it.
      if ((await listTasks()).includes(task)) throw error;
    }
  const mounts = (await readFile('/proc/mounts', 'utf8')).split('\n').map((line) => line.split(' ')[1] ?? '');
  for (const path of mounts.filter((path) => path.startsWith(`${folder}/`)).toReversed())
    await runCommand('umount', [path]);
}
