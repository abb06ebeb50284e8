/**
 * Code that changes the state of one manager in several steps, without `await`. A call of a port that
 * returns nothing (logger, metrics, listeners, Events) and that is made in between is delayed to the end:
 * the caller's code finds a complete state, for example with `explain()`.
 */
export class CriticalSection {
  #delayed: (() => void)[] | undefined;

  /** Runs `change`, then the calls delayed in it, in their order. A section within another is a part of it. */
  run<T>(change: () => T): T {
    if (this.#delayed !== undefined) return change();
    const delayed: (() => void)[] = [];
    this.#delayed = delayed;
    try {
      return change();
    } finally {
      this.#delayed = undefined;
      for (const call of delayed) call();
    }
  }

  /** Calls now, or at the end of the section that runs. @param call never throws */
  delay(call: () => void): void {
    if (this.#delayed === undefined) call();
    else this.#delayed.push(call);
  }

  /** A guarded port whose calls are delayed; they return a value only outside of a section. */
  delaying<Port extends object>(port: Port): Port {
    const methods = Object.entries(port as Record<string, (...args: readonly unknown[]) => unknown>);
    const delaying = methods.map(([name, method]) => [
      name,
      (...args: readonly unknown[]): unknown => {
        if (this.#delayed === undefined) return method(...args);
        this.#delayed.push(() => method(...args));
        return undefined;
      },
    ]);
    return Object.fromEntries(delaying) as Port;
  }
}
