const intervalMs = 50;

/** Measures event loop lag: on a saturated machine, this process notices events of other processes late. */
export class LoopLag {
  readonly #delays: { readonly atMs: number; readonly lateMs: number }[] = [];
  readonly #timer: NodeJS.Timeout;
  #expectedAtMs = Date.now() + intervalMs;

  constructor() {
    this.#timer = setInterval(() => this.#measure(), intervalMs).unref();
  }

  /** The total lag since this time, in milliseconds. */
  sinceMs(startMs: number): number {
    this.#measure();
    return this.#delays.reduce((sum, { atMs, lateMs }) => (atMs >= startMs ? sum + lateMs : sum), 0);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #measure(): void {
    const now = Date.now();
    const lateMs = now - this.#expectedAtMs;
    if (lateMs > intervalMs) this.#delays.push({ atMs: now, lateMs });
    this.#expectedAtMs = now + intervalMs;
  }
}
