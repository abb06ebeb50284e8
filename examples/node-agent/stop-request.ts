import { exitCodes } from './options.ts';

/** npm forwards a Ctrl-C to its child, which has already received it from the terminal. */
const npmRepeatMs = 150;

/** Listens for requests to stop the agent: a signal, or a closed output stream. */
export class StopRequest {
  readonly received: Promise<void>;
  #endingSinceMs: number | undefined;
  /** Under npm, each Ctrl-C arrives twice. */
  #repeatsToIgnore = process.env['npm_lifecycle_event'] === undefined ? 0 : 1;

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

  /** The agent is about to stop: from now on, a signal ends the process immediately. */
  markEnding(): void {
    this.#endingSinceMs ??= performance.now();
  }

  #forceIfEnding(): void {
    if (this.#endingSinceMs === undefined) return;
    const isRepeat = this.#repeatsToIgnore-- > 0 && performance.now() - this.#endingSinceMs < npmRepeatMs;
    if (!isRepeat) process.exit(exitCodes.forced);
  }
}
