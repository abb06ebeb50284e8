import type { Pod } from 'kubelet-status-manager';

interface Failure {
  readonly code: number;
  times: number;
}

/** The effect of the script on a request. */
export interface ScriptedEffect {
  /** The HTTP status that it fails with. */
  readonly failure?: number;
  /** The object that replaces the one that was read. */
  readonly recreation?: Pod;
}

/** The script of a trace for single requests, and the requests that it has affected. Pods by `namespace/name`. */
export class ScriptedEvents {
  readonly #failures = new Map<string, Failure>();
  readonly #recreations = new Map<string, Pod>();
  #met = new Map<string, string[]>();

  /** Replaces an earlier failure of the same requests. */
  fail(key: string, verb: string, code: number, times: number): void {
    this.#failures.set(`${verb} ${key}`, { code, times });
  }

  /** Replaces an earlier recreation of the same pod that has not affected a GET yet. */
  recreateAfterGet(key: string, pod: Pod): void {
    this.#recreations.set(key, pod);
  }

  /** Called for each request. `isThere`: the API server has such a pod. */
  apply(key: string, verb: string, isThere: boolean): ScriptedEffect {
    const failure = this.#failures.get(`${verb} ${key}`);
    if (failure !== undefined && failure.times > 0) {
      failure.times--;
      this.#note(key, `${verb} ${failure.code}`);
      return { failure: failure.code };
    }
    const recreation = verb === 'get' && isThere ? this.#recreations.get(key) : undefined;
    if (recreation === undefined) return {};
    this.#recreations.delete(key);
    this.#note(key, 'recreated');
    return { recreation };
  }

  /** The events that have affected requests since the last call. */
  takeMet(): ReadonlyMap<string, readonly string[]> {
    const met = this.#met;
    this.#met = new Map();
    return met;
  }

  #note(key: string, event: string): void {
    this.#met.set(key, [...(this.#met.get(key) ?? []), event]);
  }
}
