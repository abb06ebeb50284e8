import { exitCodes } from './options.ts';

/** Under npm one Ctrl-C comes twice: from the terminal, and passed on by npm. */
const sameKeystrokeMs = 500;

/** Listens for what asks the agent to end: a signal, or that nobody reads its output any more. */
export class StopRequest {
  readonly received: Promise<void>;
  #endingSinceMs: number | undefined;

  constructor() {
    this.received = new Promise((resolve) => {
      for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
        process.on(signal, () => {
          this.#forceIfEnding();
          this.markEnding();
          resolve();
        });
      }
      process.stdout.on('error', () => resolve());
      process.stderr.on('error', () => {});
    });
  }

  /** The agent is about to end: from now on a signal ends the process at once. */
  markEnding(): void {
    this.#endingSinceMs ??= performance.now();
  }

  #forceIfEnding(): void {
    if (this.#endingSinceMs === undefined) return;
    if (performance.now() - this.#endingSinceMs > sameKeystrokeMs) process.exit(exitCodes.forced);
  }
}
