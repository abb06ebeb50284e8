/**
 * Tracks the sources whose first pods have been delivered and handled. Until then, a source may still list an unknown
 * pod, so nothing is cleaned up. Source: kubelet `config.SourcesReady`.
 */
export class SourcesReady {
  readonly #names: readonly string[];
  readonly #seen = new Set<string>();

  constructor(names: readonly string[]) {
    this.#names = names;
  }

  addSource(name: string): void {
    this.#seen.add(name);
  }

  has(name: string): boolean {
    return this.#seen.has(name);
  }

  allReady(): boolean {
    return this.waitingFor().length === 0;
  }

  /** The names of the sources that have not delivered their pods yet. */
  waitingFor(): string[] {
    return this.#names.filter((name) => !this.#seen.has(name));
  }
}
