import { exitCodes } from './options.ts';

/** npm passes a Ctrl-C on to its child, which has had it from the terminal already. */
const npmRepeatMs = 150;

/** Listens for what asks the agent to end: a signal, or that nobody reads its output any more. */
export class StopRequest {
  readonly received: Promise<void>;
  #endingSinceMs: number | undefined;
  /** Under npm each Ctrl-C arrives twice. */
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

  /** The agent is about to end: from now on a signal ends the process immediately. */
  markEnding(): void {
    this.#endingSinceMs ??= performance.now();
  }

  #forceIfEnding(): void {
    if (this.#endingSinceMs === undefined) return;
    const isRepeat = this.#repeatsToIgnore-- > 0 && performance.now() - this.#endingSinceMs < npmRepeatMs;
    if (!isRepeat) process.exit(exitCodes.forced);
  }
}
