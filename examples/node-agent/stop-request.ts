import { exitCodes } from './options.ts';

/** npm forwards a Ctrl-C to its child, which has already received it from the terminal. It may be busy in between. */
const npmRepeatMs = 1000;
const maxForcedMs = 2000;

/** Listens for requests to stop the agent: a signal, or a closed output stream. */
export class StopRequest {
  readonly received: Promise<void>;
  #endingSinceMs: number | undefined;
  #request: () => void = () => {};
  #onForced: () => Promise<void> = async () => {};
  /** Under npm, each Ctrl-C arrives twice. */
  #repeatsToIgnore = process.env['npm_lifecycle_event'] === undefined ? 0 : 1;

  constructor() {
    this.received = new Promise((resolve) => {
      this.#request = resolve;
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

  /** Stops the agent as a first signal does. */
  request(): void {
    this.#request();
  }

  /** The agent is about to stop: from now on, a signal ends the process immediately. */
  markEnding(): void {
    this.#endingSinceMs ??= performance.now();
  }

  /** What to do before a second signal ends the process, if it does not take long. */
  onForced(callback: () => Promise<void>): void {
    this.#onForced = callback;
  }

  #forceIfEnding(): void {
    if (this.#endingSinceMs === undefined) return;
    const isRepeat = this.#repeatsToIgnore-- > 0 && performance.now() - this.#endingSinceMs < npmRepeatMs;
    if (isRepeat) return;
    const exit = (): never => process.exit(exitCodes.forced);
    setTimeout(exit, maxForcedMs);
    void this.#onForced().finally(exit);
  }
}
