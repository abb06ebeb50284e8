import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

/** As in a new shell: npx and npm run pass options of their own to what they start. */
export function shellEnvironment(): NodeJS.ProcessEnv {
  const { npm_config_package: _package, npm_config_call: _call, ...env } = process.env;
  return env;
}

/** A block of a document that runs until it is stopped. */
export class RunningCommand {
  readonly #child: ChildProcess;
  readonly #exited: Promise<number | string>;
  #output = '';
  #onOutput = (): void => {};

  /** @param command is run by a shell */
  constructor(command: string, cwd: string, env: NodeJS.ProcessEnv) {
    // A process group of its own, because npx and the shell do not pass signals on.
    this.#child = spawn(command, {
      cwd,
      shell: true,
      detached: true,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.#child.stdout!, this.#child.stderr!]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.#output += text;
        this.#onOutput();
      });
    }
    // close: also what the shell has started has ended.
    this.#exited = once(this.#child, 'close').then(([code, signal]) => (code ?? signal) as number | string);
  }

  get output(): string {
    return this.#output;
  }

  /** Resolves when the command has printed this text. @throws Error when it exits first */
  async untilPrinted(text: string): Promise<void> {
    const failed = this.#exited.then((code) => {
      throw new Error(`Exited with ${code} before it printed ${JSON.stringify(text)}:\n${this.#output}`);
    });
    failed.catch(() => {});
    while (!this.#output.includes(text)) {
      await Promise.race([new Promise<void>((resolve) => (this.#onOutput = resolve)), failed]);
    }
  }

  /** Resolves when nothing of the command is left. */
  async stop(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) process.kill(-this.#child.pid!, 'SIGTERM');
    await this.#exited;
  }
}
