/** Makes calls one after the other, in the order in which they were requested. */
export class OneAtATime {
  #last: Promise<unknown> = Promise.resolve();

  /** Settles like the call; rejects without making the call if the signal is aborted before its turn. */
  run<T>(signal: AbortSignal | undefined, call: () => Promise<T>): Promise<T> {
    const result = this.#last.then(() => {
      signal?.throwIfAborted();
      return call();
    });
    this.#last = result.catch(() => {});
    return result;
  }
}
