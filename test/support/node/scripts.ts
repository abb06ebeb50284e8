import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { signal as sendSignal } from './processes.ts';

/** The repository's folder, also when this file runs compiled from `dist`. */
export const repository = fileURLToPath(
  new URL(import.meta.url.includes('/dist/test/') ? '../../../../' : '../../../', import.meta.url),
);
/** The scripts that start a control plane, a containerd and a kubelet v1.37.1. */
export const scripts = join(repository, '..', 'shared', 'node');

export interface ScriptOptions {
  /** Ends the script, and all that it has started. */
  readonly signal?: AbortSignal | undefined;
  /** For temporary files of the script and of what it starts. */
  readonly temporaryFolder?: string | undefined;
}

/** Runs a script of `../shared/node`; resolves with the last line that it prints. */
export async function runNodeScript(
  [name, ...args]: readonly [name: string, ...args: string[]],
  { signal, temporaryFolder }: ScriptOptions = {},
): Promise<string> {
  signal?.throwIfAborted();
  const child = spawn(resolve(scripts, name), args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...(temporaryFolder !== undefined && { TMPDIR: temporaryFolder }) },
    // A process group of its own, which what it starts in the background belongs to, too.
    detached: true,
  });
  const end = (): void => sendSignal(-child.pid!, 'SIGKILL');
  signal?.addEventListener('abort', end, { once: true });
  try {
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
    signal?.throwIfAborted();
    if (code !== 0) throw new Error(`${name} ${args.join(' ')} failed: ${stderr.trim() || stdout.trim()}`);
    return stdout.trim().split('\n').at(-1)!;
  } finally {
    signal?.removeEventListener('abort', end);
  }
}
