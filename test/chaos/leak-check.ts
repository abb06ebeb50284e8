const leakDeadlineMs = 5_000;

/** The resources that this process has now; `left` finds those that were added later. */
export class LeakCheck {
  readonly #before = process.getActiveResourcesInfo();

  /** Sockets, timers, handles and requests that do not go away. */
  async left(): Promise<string[]> {
    const deadline = Date.now() + leakDeadlineMs;
    let left = this.#added();
    while (left.length > 0 && Date.now() < deadline) {
      await new Promise((resolve) => setImmediate(resolve));
      left = this.#added();
    }
    return left;
  }

  #added(): string[] {
    const added = process.getActiveResourcesInfo().filter((name) => name !== 'Immediate');
    for (const name of this.#before) {
      const i = added.indexOf(name);
      if (i >= 0) added.splice(i, 1);
    }
    return added;
  }
}
