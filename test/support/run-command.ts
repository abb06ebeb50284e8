import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';

export interface CommandOptions {
  readonly cwd?: string | undefined;
  /** In addition to those of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** Called with each line of its error output. A line for which it returns true is not part of an error's message. */
  readonly onLine?: ((line: string) => boolean) | undefined;
  /** Kills it; the promise then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Resolves with what it prints. @throws CommandError */
export async function runCommand(
  program: string,
  args: readonly string[],
  { cwd, env, onLine, signal }: CommandOptions = {},
): Promise<string> {
  signal?.throwIfAborted();
  const child = spawn(program, args, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  const end = (): void => void child.kill('SIGKILL');
  signal?.addEventListener('abort', end, { once: true });
  try {
    const errors: string[] = [];
    createInterface(child.stderr).on('line', (line) => {
      if (onLine?.(line) !== true) errors.push(line);
    });
    const [stdout, [code]] = await Promise.all([text(child.stdout), once(child, 'close') as Promise<[number | null]>]);
    signal?.throwIfAborted();
    if (code === 0) return stdout;
    throw new CommandError(`${program} ${args.slice(0, 2).join(' ')} failed:\n${errors.slice(-20).join('\n')}`);
  } finally {
    signal?.removeEventListener('abort', end);
  }
}

/** A command failed; the message has its last lines. */
export class CommandError extends Error {}
