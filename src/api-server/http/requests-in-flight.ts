/** Requests in flight at one server or client. */
export interface InFlight {
  /** Requests without a complete response, excluding watches. */
  readonly requests: number;
  /** The subset that waits for the test: for a held request to be released, or for a `FakeClock`. */
  readonly held: number;
  /** Open watches. */
  readonly watches: number;
}

/** Counts the requests in flight of one server or client. */
export class RequestsInFlight {
  readonly #counts = { requests: 0, held: 0, watches: 0 };

  get counts(): InFlight {
    return { ...this.#counts };
  }

  /** @returns ends the request or watch; may be called more than once */
  begin(kind: 'requests' | 'watches' = 'requests'): () => void {
    this.#counts[kind]++;
    let isOver = false;
    return () => {
      if (!isOver) this.#counts[kind]--;
      isOver = true;
    };
  }

  /** Counts a request as held as long as this promise is pending; any other value takes no time. */
  async holding<T>(wait: T | Promise<T>): Promise<T> {
    if (!(wait instanceof Promise)) return wait;
    this.#counts.held++;
    try {
      return await wait;
    } finally {
      this.#counts.held--;
    }
  }
}
