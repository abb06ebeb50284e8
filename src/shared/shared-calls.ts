import { untilAborted } from './abort.ts';

interface SharedCall<T> {
  readonly result: Promise<T>;
  readonly noLongerNeeded: AbortController;
  waiting: number;
}

/**
 * Calls that several wait for: who asks for the same thing while it is being done waits for that call. Each may stop
 * waiting; the call is aborted when nobody waits for it any more, not with the signal of who was first.
 */
export class SharedCalls<T> {
  readonly #calls = new Map<unknown, SharedCall<T>>();

  /** @param call what to do with the key if nobody does it yet; its signal is aborted when nobody waits any more */
  async run(key: unknown, signal: AbortSignal | undefined, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    signal?.throwIfAborted();
    const shared = this.#calls.get(key) ?? this.#begin(key, call);
    shared.waiting += 1;
    try {
      return await untilAborted(shared.result, signal);
    } finally {
      shared.waiting -= 1;
      if (shared.waiting === 0) {
        // Who comes now must not wait for a call that is aborted.
        if (this.#calls.get(key) === shared) this.#calls.delete(key);
        shared.noLongerNeeded.abort();
      }
    }
  }

  #begin(key: unknown, call: (signal: AbortSignal) => Promise<T>): SharedCall<T> {
    const noLongerNeeded = new AbortController();
    const shared = { result: call(noLongerNeeded.signal), noLongerNeeded, waiting: 0 };
    this.#calls.set(key, shared);
    return shared;
  }
}
