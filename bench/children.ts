import { execFile, fork } from 'node:child_process';
import { once } from 'node:events';
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

/** A module in its own process, which sends one message when it is ready and one reply to each message. */
export interface Child<Message, Reply> {
  readonly first: Reply;
  ask(message: Message): Promise<Reply>;
  /** Disconnects, which tells the module to exit. */
  end(): Promise<void>;
}

export async function startChild<Message extends string, Reply>(
  file: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<Child<Message, Reply>> {
  const child = fork(file, args, { env: { ...process.env, ...env } });
  const exit = once(child, 'exit');
  const reply = async (): Promise<Reply> => {
    const received = await Promise.race([once(child, 'message'), exit.then(() => undefined)]);
    if (received === undefined) throw new Error(`${file} ended early`);
    return received[0] as Reply;
  };
  return {
    first: await reply(),
    ask(message) {
      const response = reply();
      child.send(message);
      return response;
    },
    async end() {
      child.disconnect();
      await exit;
    },
  };
}
