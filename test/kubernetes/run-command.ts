import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';

export interface CommandOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Called with each line of its error output. A line for which it returns true is not part of an error's message. */
  readonly onLine?: (line: string) => boolean;
}

/** Resolves with what it prints. @throws CommandError */
export async function runCommand(
  program: string,
  args: readonly string[],
  { cwd, env, onLine }: CommandOptions,
): Promise<string> {
  const child = spawn(program, args, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  const errors: string[] = [];
  createInterface(child.stderr).on('line', (line) => {
    if (onLine?.(line) !== true) errors.push(line);
  });
  const [stdout, [code]] = (await Promise.all([text(child.stdout), once(child, 'close')])) as [string, [number | null]];
  if (code === 0) return stdout;
  throw new CommandError(`${program} ${args.slice(0, 2).join(' ')} failed:\n${errors.slice(-20).join('\n')}`);
}

/** A command failed; the message has its last lines. */
export class CommandError extends Error {}
