/** Does something once all participants have arrived or left. */
export class Meeting<T> {
  readonly #expected: Set<T>;
  readonly #action: () => Promise<void>;
  #waiting: { readonly resolve: () => void; readonly reject: (error: unknown) => void }[] = [];

  constructor(participants: Iterable<T>, action: () => Promise<void>) {
    this.#expected = new Set(participants);
    this.#action = action;
  }

  /** Resolves when the action is over, and rejects with its error. */
  arrive(participant: T): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.leave(participant);
    });
  }

  /** Nobody waits for this participant any more. */
  leave(participant: T): void {
    this.#expected.delete(participant);
    if (this.#expected.size > 0 || this.#waiting.length === 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#action().then(
      () => waiting.forEach(({ resolve }) => resolve()),
      (error: unknown) => waiting.forEach(({ reject }) => reject(error)),
    );
  }
}
