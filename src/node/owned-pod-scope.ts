import { setMaxListeners } from 'node:events';
import { podFieldsOf } from '../kube/pods/pod-log-fields.ts';
import type { Pod } from '../kube/objects/types.ts';
import type { Clock, Timer } from '../shared/clock.ts';
import { boundedCall } from '../shared/deadline.ts';
import type { Logger } from '../shared/logger.ts';
import type { PodScope, PodWork, PodWorkOptions } from './pod-scope.ts';
import type { CallOptions } from './runtime/container-runtime.ts';

/** How long aborted work is waited for. After that, only its signal keeps it from having an effect. */
const graceMs = 10_000;

export interface PodScopeOptions {
  readonly pod: Pod;
  readonly clock: Pick<Clock, 'afterFunc'>;
  readonly logger: Logger;
  /** When the scope begins. Default: immediately. */
  readonly after?: Promise<void> | undefined;
}

interface RunningWork {
  readonly ended: Promise<void>;
  readonly giveUp: () => void;
}

/** The scope of a pod for its owner, which alone can close it. */
export class OwnedPodScope implements PodScope {
  readonly signal: AbortSignal;
  readonly #options: Omit<PodScopeOptions, 'pod'>;
  /** Instead of the pod, of which newer objects follow. */
  readonly #podFields: object;
  readonly #closed = new AbortController();
  /**
   * Work leaves this set when it has settled, when it has not done so within `graceMs` after its signal was aborted, or when
   * it is given up.
   */
  readonly #running = new Set<RunningWork>();
  /** By `inTurnOn`, the end of the last work that was requested. */
  readonly #turns = new Map<string, Promise<void>>();

  constructor({ pod, ...options }: PodScopeOptions) {
    this.#options = options;
    this.#podFields = podFieldsOf(pod);
    this.signal = this.#closed.signal;
    // No listener limit: a pod may have any number of containers and volumes.
    setMaxListeners(0, this.signal);
  }

  run<T>(
    what: string,
    { signal, stopSignal, timeoutMs = Number.POSITIVE_INFINITY, inTurnOn }: PodWorkOptions,
    work: PodWork<T>,
  ): Promise<T> {
    const { clock, after } = this.#options;
    return boundedCall(what, { clock, timeoutMs, signals: [this.signal, signal, stopSignal] }, (options) => {
      const previous = inTurnOn === undefined ? undefined : this.#turns.get(inTurnOn);
      const result = this.#inTurn([after, previous], options.signal, () => work(options));
      const ended = this.#track(what, result, options.signal);
      if (inTurnOn !== undefined) this.#endTurn(inTurnOn, Promise.all([previous, ended]));
      return result;
    });
  }

  /**
   * Ends the scope: aborts what runs, and lets nothing begin. Resolves when everything has ended, after 10 seconds at most.
   * Idempotent.
   */
  async close(): Promise<void> {
    if (!this.signal.aborted) this.#closed.abort(new Error('the pod has ended on this node'));
    await Promise.all(Array.from(this.#running, ({ ended }) => ended));
  }

  /** For the end of the agent: as `close`, but does not wait. */
  stop(): void {
    void this.close();
    for (const { giveUp } of this.#running) giveUp();
  }

  async #inTurn<T>(
    previous: readonly (Promise<void> | undefined)[],
    signal: AbortSignal,
    work: () => T | Promise<T>,
  ): Promise<T> {
    for (const each of previous) if (each !== undefined) await each;
    signal.throwIfAborted();
    return work();
  }

  #endTurn(key: string, previous: Promise<unknown>): void {
    const end = previous.then(() => {
      if (this.#turns.get(key) === end) this.#turns.delete(key);
    });
    this.#turns.set(key, end);
  }

  #track(what: string, result: Promise<unknown>, signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    let giveUp = (): void => {};
    const ended = new Promise<void>((resolve) => {
      let timer: Timer | undefined;
      const onAbort = (): void => {
        timer = clock.afterFunc(graceMs, () => {
          logger.warn({ ...this.#podFields, work: what }, 'Work for a pod has not ended although its time is over');
          resolve();
        });
      };
      if (signal.aborted) onAbort();
      else signal.addEventListener('abort', onAbort);
      giveUp = () => {
        signal.removeEventListener('abort', onAbort);
        timer?.stop();
        resolve();
      };
      result.then(giveUp, giveUp);
    });
    const running = { ended, giveUp };
    this.#running.add(running);
    void ended.then(() => this.#running.delete(running));
    return ended;
  }
}

/**
 * The scopes of pods for an owner whose callers know pods only, such as the volumes of a runtime helper. Only the calls that
 * begin and end a pod for this owner `open` and `close` its scope. All others `get` it, so that they cannot create a scope
 * for a pod that has ended.
 */
export class PodScopes {
  readonly #options: Omit<PodScopeOptions, 'pod' | 'after'>;
  readonly #scopes = new Map<string, { readonly scope: OwnedPodScope; readonly isEnding: boolean }>();
  /** Scopes that have not ended, including those that a later scope of the same pod has replaced. */
  readonly #unended = new Set<OwnedPodScope>();

  constructor(options: Omit<PodScopeOptions, 'pod' | 'after'>) {
    this.#options = options;
  }

  /** The scope of a pod that begins, or that has begun before. */
  open(pod: Pod): PodScope {
    return this.get(pod) ?? this.#begin(pod, false);
  }

  /** Undefined for a pod that has not begun, or that has ended. */
  get(pod: Pod): PodScope | undefined {
    const known = this.#scopes.get(uidOf(pod));
    return known?.isEnding === false ? known.scope : undefined;
  }

  /** Closes the scope of a pod, if there is one, and calls `cleanUp` when all in it has ended. A later scope begins after that. */
  async close(
    pod: Pod,
    options: CallOptions,
    cleanUp: (options: { readonly signal: AbortSignal }) => Promise<void>,
  ): Promise<void> {
    const ending = this.#begin(pod, true);
    try {
      await ending.run('the clean-up of the pod', options, cleanUp);
    } finally {
      void this.#close(ending).then(() => {
        if (this.#scopes.get(uidOf(pod))?.scope === ending) this.#scopes.delete(uidOf(pod));
      });
    }
  }

  /** For the end of the owner: no further work begins, and running work is not waited for. */
  stop(): void {
    for (const scope of this.#unended) scope.stop();
  }

  #begin(pod: Pod, isEnding: boolean): OwnedPodScope {
    const earlier = this.#scopes.get(uidOf(pod))?.scope;
    const after = earlier && this.#close(earlier);
    const scope = new OwnedPodScope({ ...this.#options, pod, after });
    this.#scopes.set(uidOf(pod), { scope, isEnding });
    this.#unended.add(scope);
    return scope;
  }

  async #close(scope: OwnedPodScope): Promise<void> {
    await scope.close();
    this.#unended.delete(scope);
  }
}

function uidOf({ metadata }: Pod): string {
  return metadata?.uid ?? '';
}
