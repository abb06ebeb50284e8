/** The position of an event in the order of a cache: a higher number is later. */
export type Revision = number;

/** Counts reads and changes; caches that are read together share one. */
export class Revisions {
  #last: Revision = 0;

  get last(): Revision {
    return this.#last;
  }

  next(): Revision {
    return ++this.#last;
  }
}

interface Entry<Value> {
  readonly revision: Revision;
  /** Absent: unknown, or removed. */
  readonly value?: Value;
}

/**
 * A cache of values that were read elsewhere, by key. A read takes its revision with `begin` before it starts. Its result is
 * stored only if no write, removal or later read has changed the key since then, and none is in progress. So a late response
 * never replaces a newer value, and a list never removes a value that it could not contain.
 *
 * Use it only for values that can be read again, not for state that only this process knows.
 */
export class ReadCache<Value> {
  readonly #entries = new Map<string, Entry<Value>>();
  readonly #stale = new Set<string>();
  /** Changes in progress → their keys. */
  readonly #changes = new Map<Promise<unknown>, string>();
  readonly #revisions: Revisions;
  /** Keys without an entry have not changed since. */
  #prunedAt: Revision = 0;

  /** @param revisions shared with other caches. Default: its own */
  constructor(revisions = new Revisions()) {
    this.#revisions = revisions;
  }

  /** Right before a read starts. */
  begin(): Revision {
    return this.#revisions.next();
  }

  /** The keys that have changed and have not been read since. */
  get stale(): ReadonlySet<string> {
    return this.#stale;
  }

  get(key: string): Value | undefined {
    return this.#entries.get(key)?.value;
  }

  /** When the value was read or changed; without an entry, when all keys were last listed. */
  revisionOf(key: string): Revision {
    return Math.max(this.#entries.get(key)?.revision ?? 0, this.#prunedAt);
  }

  /** The known values, in no order. */
  values(): Value[] {
    return [...this.#entries.values()].flatMap(({ value }) => (value === undefined ? [] : [value]));
  }

  /**
   * Stores the result of a read that began at `since`; undefined: the read found nothing. Does nothing if the key has
   * changed since.
   * @returns whether it was stored
   */
  store(key: string, value: Value | undefined, since: Revision): boolean {
    if (this.revisionOf(key) > since || [...this.#changes.values()].includes(key)) return false;
    this.#entries.set(key, { revision: since, ...(value !== undefined && { value }) });
    this.#stale.delete(key);
    return true;
  }

  /** Sets a value that this process has created itself. */
  set(key: string, value: Value): void {
    this.#entries.set(key, { revision: this.begin(), value });
    this.#stale.delete(key);
  }

  /**
   * During a change by `call`, the value is unknown, because the call has its effect at some time before its response. Also
   * if it fails, the value must be read again.
   */
  async change<Result>(key: string, call: Promise<Result>): Promise<Result> {
    this.invalidate(key);
    this.#changes.set(call, key);
    try {
      return await call;
    } finally {
      this.#changes.delete(call);
      this.invalidate(key);
    }
  }

  /** After a change or removal, even one that may have failed: the value must be read again. */
  invalidate(key: string): void {
    this.#entries.set(key, { revision: this.begin() });
    this.#stale.add(key);
  }

  /** Removes the keys that are missing in a list that began at `since`, unless they have changed since. */
  prune(isListed: (key: string) => boolean, since: Revision): void {
    for (const [key, { revision }] of this.#entries) {
      if (revision > since || isListed(key)) continue;
      this.#entries.delete(key);
      this.#stale.delete(key);
    }
    this.#prunedAt = Math.max(this.#prunedAt, since);
  }
}
