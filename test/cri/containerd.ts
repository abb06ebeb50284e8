import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** The socket of a runtime that is already running, for example CRI-O, in place of a containerd of the tests' own. */
export const otherRuntime = process.env['CRI_ENDPOINT'];
const script = fileURLToPath(new URL('../../../shared/node/containerd', import.meta.url));

/** Why the tests on containerd cannot run here; undefined if they can. */
export function whyNoContainerd(): string | undefined {
  if (process.getuid?.() !== 0) return 'it needs root';
  if (otherRuntime !== undefined) return undefined;
  if (!existsSync(script)) return '../shared/node is missing';
  const missing = ['containerd', 'runc', 'ctr'].filter((name) => spawnSync(name, ['--version']).status !== 0);
  return missing.length === 0 ? undefined : `${missing.join(', ')} not installed`;
}

/** A containerd of its own, with the image busybox. Its bridge has the number, so that tests do not share one. */
export async function startContainerd(
  bridge = 7,
): Promise<{ endpoint: string; folder: string; stop(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'containerd-'));
  if (otherRuntime !== undefined)
    return { endpoint: otherRuntime, folder, stop: () => rm(folder, { recursive: true, force: true, maxRetries: 10 }) };
  const run = promisify(execFile);
  const { stdout } = await run(script, ['up', folder, String(bridge)]);
  return {
    endpoint: stdout.trim().split('\n').at(-1)!,
    folder,
    stop: async () => {
      await removeContainers(folder);
      await run(script, ['down', folder]);
      await rm(folder, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}

/** Containers that a failed test left would keep their mounts, so that the folder could not be removed. */
async function removeContainers(folder: string): Promise<void> {
  const run = promisify(execFile);
  const ctr = (...args: string[]) => run('ctr', ['-a', join(folder, 'containerd.sock'), '-n', 'k8s.io', ...args]);
  const listTasks = async (): Promise<string[]> => (await ctr('tasks', 'ls', '-q')).stdout.split('\n').filter(Boolean);
  for (const task of await listTasks())
    try {
      await ctr('tasks', 'rm', '--force', task);
    } catch (error) {
      // A container in the process namespace of another one ends with it.
      if ((await listTasks()).includes(task)) throw error;
    }
  const mounts = (await readFile('/proc/mounts', 'utf8')).split('\n').map((line) => line.split(' ')[1] ?? '');
  for (const path of mounts.filter((path) => path.startsWith(`${folder}/`)).toReversed()) await run('umount', [path]);
}
