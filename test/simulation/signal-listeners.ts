import { getEventListeners } from 'node:events';
import { LightAbortSignal } from '../../src/shared/abort.ts';

type Listen = (type: 'abort', listener: () => void) => void;

/** Counts the listeners of all abort signals that are made from now on, until `restore`. */
export class SignalListeners {
  readonly #signals = new Set<AbortSignal>();
  /** The listeners of the library's own signals. */
  readonly #light = new Map<LightAbortSignal, number>();
  readonly #realLight: { readonly add: Listen; readonly remove: Listen };
  readonly #real = globalThis.AbortController;

  constructor() {
    const signals = this.#signals;
    globalThis.AbortController = class extends this.#real {
      constructor() {
        super();
        signals.add(this.signal);
      }

      override abort(reason?: unknown): void {
        super.abort(reason);
        signals.delete(this.signal);
      }
    };
    const { prototype } = LightAbortSignal;
    const { addEventListener: add, removeEventListener: remove } = prototype;
    this.#realLight = { add, remove };
    const light = this.#light;
    const counted = (real: Listen, change: number): Listen =>
      function (this: LightAbortSignal, type, listener) {
        const count = (light.get(this) ?? 0) + change;
        if (count > 0 && !this.aborted) light.set(this, count);
        else light.delete(this);
        real.call(this, type, listener);
      };
    prototype.addEventListener = counted(add, 1);
    prototype.removeEventListener = counted(remove, -1);
  }

  /** As `most`, of the library's own signals, for each of which a listener is removed once. */
  get mostOfLight(): number {
    return Math.max(0, ...this.#light.values());
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

  /** Forgets the signals so far. Those of a process that was killed are never aborted, and keep the listeners of its calls. */
  forget(): void {
    this.#signals.clear();
    this.#light.clear();
  }

  restore(): void {
    globalThis.AbortController = this.#real;
    this.forget();
    LightAbortSignal.prototype.addEventListener = this.#realLight.add;
    LightAbortSignal.prototype.removeEventListener = this.#realLight.remove;
  }
}
