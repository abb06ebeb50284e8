import { channel } from 'node:diagnostics_channel';
import type { Subscribers } from '../subscribers.ts';
import type { ApiError, FailureClass } from '../client/api-error.ts';
import { runInMicrotask } from '../clock.ts';
import type { Metrics } from '../metrics.ts';

/** What happened to one version of a pod's status. */
export type StatusOutcome = {
  readonly podUID: string;
  readonly podNamespace: string;
  readonly podName: string;
  readonly version: number;
} & (
  | {
      /**
       * `written`: the API server took it. `unchanged`: the API server showed it already.
       * `superseded`: a newer version came before it was sent. `deleted`: it was the last one, the
       * API object has been deleted.
       */
      readonly outcome: 'written' | 'unchanged' | 'superseded' | 'deleted';
    }
  /**
   * There is nobody left to write it to, or nothing left to write. `outdated`: it came from the
   * journal, and the API server shows something newer.
   */
  | { readonly outcome: 'gone'; readonly reason: 'removed' | 'recreated' | 'outdated' }
  /** The API server will not have it as it is; it is tried again, but rarely. */
  | { readonly outcome: 'refused'; readonly error: ApiError; readonly nextTryInMs: number }
  /** It did not get through and is tried again. */
  | {
      readonly outcome: 'retried';
      readonly failure: FailureClass;
      readonly error: ApiError;
      readonly nextTryInMs: number;
    }
);

/** What `whenWritten` resolves with. */
export type WrittenResult =
  | { readonly written: true; readonly version: number }
  | {
      readonly written: false;
      /**
       * `not-cached`: the pod has no cached status. `removed`, `recreated`, `outdated`: as the outcome `gone`.
       * `refused`: the API server will not have it; `error` says why. `stopped`: the manager stopped.
       * `no-client`: it has nobody to write it.
       */
      readonly reason: 'not-cached' | 'no-client' | 'removed' | 'recreated' | 'outdated' | 'refused' | 'stopped';
      readonly error?: ApiError;
    };

/** Told of outcomes. */
export interface OutcomeListener {
  /** One version of a pod's status was written, refused, … . Called after the fact, never inside a setter. */
  onOutcome?(outcome: StatusOutcome): void;
}

interface Waiter {
  readonly version: number;
  readonly resolve: (result: WrittenResult) => void;
}

/** Name of the diagnostics channel on which every outcome of every manager is published. */
export const outcomeChannelName = 'kubelet-status-manager:outcome';

/**
 * Makes what happens to updates visible: to listeners, on `node:diagnostics_channel`, to those who
 * wait, and as a metric.
 */
export class Outcomes {
  readonly #channel = channel(outcomeChannelName);
  readonly #waiters = new Map<string, Waiter[]>();
  readonly #metrics: Metrics;
  readonly #subscribers: Subscribers<OutcomeListener>;

  constructor(metrics: Metrics, subscribers: Subscribers<OutcomeListener>) {
    this.#metrics = metrics;
    this.#subscribers = subscribers;
  }

  /** As `report`, but tells listeners in a turn of their own: for what happens inside a setter. */
  reportLater(outcome: StatusOutcome): void {
    this.#record(outcome);
    if (!this.#subscribers.isEmpty || this.#channel.hasSubscribers) runInMicrotask(() => this.#publish(outcome));
  }

  /** All are recorded before anybody hears of the first: what a listener sets is no part of them. */
  report(...outcomes: readonly StatusOutcome[]): void {
    for (const outcome of outcomes) this.#record(outcome);
    for (const outcome of outcomes) this.#publish(outcome);
  }

  /** At once: whoever waits from now on waits for a later version. */
  #record(outcome: StatusOutcome): void {
    this.#metrics.incOutcomes(outcome.outcome);
    this.#settleWaiters(outcome);
  }

  #publish(outcome: StatusOutcome): void {
    this.#subscribers.notify((listener) => listener.onOutcome?.(outcome));
    if (this.#channel.hasSubscribers) this.#channel.publish(outcome);
  }

  /** Resolves when `version` or a newer one of this pod is written, or never will be. */
  whenWritten(uid: string, version: number): Promise<WrittenResult> {
    return new Promise((resolve) => {
      const waiters = this.#waiters.get(uid);
      if (waiters === undefined) this.#waiters.set(uid, [{ version, resolve }]);
      else waiters.push({ version, resolve });
    });
  }

  /** Tells everybody who still waits that nothing more is sent. */
  stop(): void {
    for (const waiters of this.#waiters.values()) {
      for (const { resolve } of waiters) resolve({ written: false, reason: 'stopped' });
    }
    this.#waiters.clear();
  }

  #settleWaiters(outcome: StatusOutcome): void {
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
}

function resultFor(outcome: StatusOutcome, version: number): WrittenResult | undefined {
  switch (outcome.outcome) {
    case 'written':
    case 'unchanged':
      return outcome.version >= version ? { written: true, version: outcome.version } : undefined;
    case 'deleted':
      // A version that came while the object was being deleted went with it.
      return outcome.version >= version
        ? { written: true, version: outcome.version }
        : { written: false, reason: 'removed' };
    case 'gone':
      return { written: false, reason: outcome.reason };
    case 'refused':
      return outcome.version >= version ? { written: false, reason: 'refused', error: outcome.error } : undefined;
    default:
      return undefined;
  }
}
