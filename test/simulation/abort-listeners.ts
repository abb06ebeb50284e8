import { LightAbortSignal } from '../../src/shared/abort.ts';

type Listen = (type: 'abort', listener: () => void) => void;

/** Counts the listeners on the library's signals while it is watched. */
export class AbortListeners {
  readonly #counts = new Map<object, number>();
  readonly #real: { readonly add: Listen; readonly remove: Listen };

  constructor() {
    const { prototype } = LightAbortSignal;
    const { addEventListener: add, removeEventListener: remove } = prototype;
    this.#real = { add, remove };
    const counts = this.#counts;
    const counted = (real: Listen, change: number): Listen =>
      function (this: LightAbortSignal, type, listener) {
        counts.set(this, (counts.get(this) ?? 0) + change);
        real.call(this, type, listener);
      };
    prototype.addEventListener = counted(add, 1);
    prototype.removeEventListener = counted(remove, -1);
  }

  /** The most listeners on one signal. Removals of what was never added or removed twice make it smaller. */
  get most(): number {
    return Math.max(0, ...this.#counts.values());
  }

  end(): void {
    LightAbortSignal.prototype.addEventListener = this.#real.add;
    LightAbortSignal.prototype.removeEventListener = this.#real.remove;
  }
}
