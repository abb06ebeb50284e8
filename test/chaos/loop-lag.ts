const intervalMs = 50;

/** How late this process is: on a saturated machine it sees what happens elsewhere only after a while. */
export class LoopLag {
  readonly #delays: { readonly atMs: number; readonly lateMs: number }[] = [];
  readonly #timer: NodeJS.Timeout;
  #expectedAtMs = Date.now() + intervalMs;

  constructor() {
    this.#timer = setInterval(() => this.#measure(), intervalMs).unref();
  }

  /** By how many milliseconds it was late, in all, since this time. */
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
