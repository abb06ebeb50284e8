import { untilAborted } from './abort.ts';

interface SharedCall<T> {
  readonly result: Promise<T>;
  readonly noLongerNeeded: AbortController;
  waiting: number;
}

/**
 * Shares calls: a caller that requests the same key as a call in progress waits for that call. Each caller may stop
 * waiting with its own signal. The call is aborted when the last caller has stopped waiting.
 */
export class SharedCalls<T> {
  readonly #calls = new Map<unknown, SharedCall<T>>();

  /** @param call started if there is no call for the key; its signal is aborted when no caller waits */
  async run(key: unknown, signal: AbortSignal | undefined, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    signal?.throwIfAborted();
    const shared = this.#calls.get(key) ?? this.#begin(key, call);
    shared.waiting += 1;
    try {
      return await untilAborted(shared.result, signal);
    } finally {
      shared.waiting -= 1;
      if (shared.waiting === 0) {
        // A later caller must not wait for an aborted call.
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
