import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import type { Clock } from '../../shared/clock.ts';

/** npm and npx forward a Ctrl-C to this process, which has already received it from the terminal. */
const repeatMs = 150;

/** The exit code of a shell for a program that it cannot start. */
const cannotStart = 127;

/** A program that runs beside the server. */
export class Program {
  /**
   * Resolves with its exit code, or as a shell does, with 128 + the signal number if a signal ended it and
   * 127 if it could not start.
   */
  readonly exited: Promise<number>;
  readonly #child: ChildProcess;
  readonly #clock: Clock;
  #lastSignal: { readonly name: NodeJS.Signals; readonly atMs: number } | undefined;

  /** @param onError receives the error message if it cannot start */
  constructor(
    command: readonly [file: string, ...args: string[]],
    { env, clock, onError }: { env: NodeJS.ProcessEnv; clock: Clock; onError: (message: string) => void },
  ) {
    const [file, ...args] = command;
    // In its own process group, so that it receives a Ctrl-C only once, forwarded by this process.
    this.#child = spawn(file, args, { stdio: 'inherit', detached: true, env: { ...process.env, ...env } });
    this.#clock = clock;
    this.exited = once(this.#child, 'exit').then(
      ([code, signal]) => (code as number | null) ?? 128 + constants.signals[signal as NodeJS.Signals],
      (error: unknown) => {
        onError(`Cannot run ${file}: ${(error as Error).message}`);
        return cannotStart;
      },
    );
  }

  /** Sends a signal to the program and its own child processes, as a terminal does. */
  kill(name: NodeJS.Signals): void {
    const atMs = this.#clock.monotonicMs();
    const last = this.#lastSignal;
    this.#lastSignal = { name, atMs };
    if (last?.name === name && atMs - last.atMs < repeatMs) return;
    const { pid, exitCode, signalCode } = this.#child;
    if (pid === undefined || exitCode !== null || signalCode !== null) return;
    try {
      process.kill(-pid, name);
    } catch {
      // ESRCH: it has just exited.
    }
  }
}
