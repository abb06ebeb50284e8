/** Those who wait until nothing is in flight and nothing queued. */
export class IdleWaiters {
  #resolves: (() => void)[] = [];

  /** Resolves with the next `notifyIdle`. */
  wait(): Promise<void> {
    return new Promise((resolve) => this.#resolves.push(resolve));
  }

  notifyIdle(): void {
    const resolves = this.#resolves;
    this.#resolves = [];
    for (const resolve of resolves) resolve();
  }
}
