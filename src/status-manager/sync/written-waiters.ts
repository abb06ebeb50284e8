import type { APIError } from '../../kube/client/api-error.ts';
import type { StatusOutcome } from './status-outcome.ts';

/** Result of `whenWritten`. */
export type WrittenResult =
  | { readonly written: true; readonly version: number }
  | {
      readonly written: false;
      /**
       * `not-cached`: the pod has no cached status. `removed`, `recreated`, `outdated`: as the outcome
       * `gone`. `refused`: the API server refuses it; `error` says why. `stopped`: the manager
       * stopped. `no-client`: the manager has no client.
       */
      readonly reason: 'not-cached' | 'no-client' | 'removed' | 'recreated' | 'outdated' | 'refused' | 'stopped';
      readonly error?: APIError;
    };

interface Waiter {
  readonly version: number;
  readonly resolve: (result: WrittenResult) => void;
}

/** Pending `whenWritten` calls. */
export class WrittenWaiters {
  readonly #waiters = new Map<string, Waiter[]>();

  /** Resolves with the first outcome that settles `version`. */
  add(uid: string, version: number): Promise<WrittenResult> {
    return new Promise((resolve) => {
      const waiters = this.#waiters.get(uid);
      if (waiters === undefined) this.#waiters.set(uid, [{ version, resolve }]);
      else waiters.push({ version, resolve });
    });
  }

  resolve(outcome: StatusOutcome): void {
    const waiters = this.#waiters.get(outcome.podUID);
    if (waiters === undefined) return;
    const waiting = waiters.filter(({ version, resolve }) => {
      const result = resultFor(outcome, version);
      if (result !== undefined) resolve(result);
      return result === undefined;
    });
    if (waiting.length === 0) this.#waiters.delete(outcome.podUID);
    else this.#waiters.set(outcome.podUID, waiting);
  }

  stop(): void {
    for (const waiters of this.#waiters.values()) {
      for (const { resolve } of waiters) resolve({ written: false, reason: 'stopped' });
    }
    this.#waiters.clear();
  }
}

/** Undefined if the outcome does not settle this version. */
function resultFor(outcome: StatusOutcome, version: number): WrittenResult | undefined {
  if (outcome.version < version) return undefined;
  switch (outcome.outcome) {
    case 'written':
    case 'unchanged':
    case 'reconciled':
      return { written: true, version: outcome.version };
    case 'gone':
      return { written: false, reason: outcome.reason };
    case 'refused':
      return { written: false, reason: 'refused', error: outcome.error };
    case 'forbidden':
    case 'retried':
    case 'superseded':
    case 'hot-loop':
    case 'deletion-requested':
    case 'deleted':
      return undefined;
    default:
      return outcome satisfies never;
  }
}
