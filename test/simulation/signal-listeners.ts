import { getEventListeners } from 'node:events';

/** Counts the listeners of all abort signals that are made from now on, until `restore`. */
export class SignalListeners {
  readonly #signals = new Set<AbortSignal>();
  readonly #real = globalThis.AbortController;

  constructor() {
    const signals = this.#signals;
    globalThis.AbortController = class extends this.#real {
      constructor() {
        super();
        signals.add(this.signal);
      }
    };
  }

  /** The largest number of listeners of one signal that is not aborted. */
  get most(): number {
    let most = 0;
    for (const signal of this.#signals) {
      if (signal.aborted) this.#signals.delete(signal);
      else most = Math.max(most, getEventListeners(signal, 'abort').length);
    }
    return most;
  }

  restore(): void {
    globalThis.AbortController = this.#real;
    this.#signals.clear();
  }
}
