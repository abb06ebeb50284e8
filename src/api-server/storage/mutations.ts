import type { Pod } from '../../kube/objects/types.ts';
import { type FaultRequest, fits, type RequestMatch, requireMatch } from '../faults/fault-match.ts';
import { matchValues } from '../faults/http-faults.ts';

/**
 * Modifies an object before it is stored, as a mutating webhook does, either in place or by returning
 * another object. If it throws, the request fails with 500.
 */
export type Mutation<T extends object = Pod> = (object: T, request: FaultRequest) => T | void;

/** The mutating webhooks of one server, which run in the order of their registration. */
export class Mutations {
  readonly #mutations = new Set<{ readonly match: RequestMatch; readonly mutate: Mutation<object> }>();

  /** @returns removes the hook */
  add(match: RequestMatch, mutate: Mutation<object>): () => void {
    requireMatch(match, matchValues);
    const mutation = { match, mutate };
    this.#mutations.add(mutation);
    return () => void this.#mutations.delete(mutation);
  }

  /** A changed copy of the object; undefined if no mutation matches the request. */
  apply(request: FaultRequest, object: object): object | undefined {
    let changed: object | undefined;
    for (const { match, mutate } of this.#mutations) {
      if (!fits(match, request)) continue;
      const copy = JSON.parse(JSON.stringify(changed ?? object)) as object;
      changed = mutate(copy, request) ?? copy;
    }
    return changed;
  }
}
