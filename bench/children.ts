import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Runs a program to its end and reads the lines of JSON it prints; other lines are skipped. */
export async function jsonLinesOf<T>(file: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<T[]> {
  const { stdout } = await run(file, args, { env: { ...process.env, ...env }, maxBuffer: 64 * 2 ** 20 });
  return stdout
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as T);
}
