import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const script = fileURLToPath(new URL('../../../shared/node/containerd', import.meta.url));

/** Why the tests on containerd cannot run here; undefined if they can. */
export function whyNoContainerd(): string | undefined {
  if (!existsSync(script)) return '../shared/node is missing';
  if (process.getuid?.() !== 0) return 'it needs root';
  const missing = ['containerd', 'runc', 'ctr'].filter((name) => spawnSync(name, ['--version']).status !== 0);
  return missing.length === 0 ? undefined : `${missing.join(', ')} not installed`;
}

/** A containerd of its own, with the image busybox. Its bridge has the number, so that tests do not share one. */
export async function startContainerd(
  bridge = 7,
): Promise<{ endpoint: string; folder: string; stop(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'containerd-'));
  const run = promisify(execFile);
  const { stdout } = await run(script, ['up', folder, String(bridge)]);
  return {
    endpoint: stdout.trim().split('\n').at(-1)!,
    folder,
    stop: async () => {
      await run(script, ['down', folder]);
      await rm(folder, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}
