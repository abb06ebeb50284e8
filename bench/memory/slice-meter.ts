import { type Clock, systemClock } from 'kubelet-status-manager';

/** Measures how long the event loop is blocked between two yields of the manager. */
export class SliceMeter {
  longestMs = 0;
  #startMs = 0;
  readonly clock: Clock = {
    ...systemClock,
    yieldToEventLoop: async (): Promise<void> => {
      this.end();
      await systemClock.yieldToEventLoop();
      this.start();
    },
  };

  start(): void {
    this.#startMs = performance.now();
  }

  end(): void {
    this.longestMs = Math.max(this.longestMs, performance.now() - this.#startMs);
  }
}
