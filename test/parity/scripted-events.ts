interface Failure {
  readonly code: number;
  times: number;
}

/** What a trace's script does to single requests, and which requests have met it. Pods by `namespace/name`. */
export class ScriptedEvents {
  readonly #failures = new Map<string, Failure>();
  readonly #recreations = new Map<string, number>();
  #met = new Map<string, string[]>();

  /** Replaces an earlier failure of the same requests. */
  fail(key: string, verb: string, code: number, times: number): void {
    this.#failures.set(`${verb} ${key}`, { code, times });
  }

  recreateAfterGet(key: string): void {
    this.#recreations.set(key, (this.#recreations.get(key) ?? 0) + 1);
  }

  /** One request is made. @returns the HTTP status that it fails with */
  meet(key: string, verb: string): number | undefined {
    const failure = this.#failures.get(`${verb} ${key}`);
    if (failure !== undefined && failure.times > 0) {
      failure.times--;
      this.#note(key, `${verb} ${failure.code}`);
      return failure.code;
    }
    const recreations = this.#recreations.get(key) ?? 0;
    if (verb === 'get' && recreations > 0) {
      this.#recreations.set(key, recreations - 1);
      this.#note(key, 'recreated');
    }
    return undefined;
  }

  /** What has been met since the last call. */
  takeMet(): ReadonlyMap<string, readonly string[]> {
    const met = this.#met;
    this.#met = new Map();
    return met;
  }

  #note(key: string, event: string): void {
    this.#met.set(key, [...(this.#met.get(key) ?? []), event]);
  }
}
