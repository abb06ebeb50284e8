import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** The repository's folder, also when this file runs compiled from `dist`. */
export const repository = fileURLToPath(
  new URL(import.meta.url.includes('/dist/test/') ? '../../../../' : '../../../', import.meta.url),
);
/** The scripts that start a control plane, a containerd and a kubelet v1.37.1. */
export const scripts = join(repository, '..', 'shared', 'node');

/** Runs a script of `../shared/node`; resolves with the last line that it prints. */
export async function runNodeScript(name: string, ...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(join(scripts, name), args, { maxBuffer: 1 << 24 });
  return stdout.trim().split('\n').at(-1)!;
}
