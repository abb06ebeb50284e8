import type { RequestVerb } from '../../kube/client/pod-client.ts';
import type { AbortSignalLike } from '../../shared/abort.ts';
import type { Clock } from '../../shared/clock.ts';

/** What a sync does or waits for, in the words of `WaitingFor`. */
export type SyncPhase =
  | {
      /**
       * `starting`: it is about to make a request. `syncing`: a request has ended, and the sync continues.
       * `ended`: its result is recorded.
       */
      readonly kind: 'starting' | 'syncing' | 'ended';
    }
  | { readonly kind: 'retry-after' }
  | { readonly kind: 'limiter'; readonly limit: 'qps' | 'max-in-flight' }
  | { readonly kind: 'connection' | 'response'; readonly verb: RequestVerb };

/** One sync of one pod in flight: its GET, PATCH and DELETE. */
export class PodSync {
  readonly uid: string;
  /** Aborts its requests. */
  readonly signal: AbortSignalLike;
  /** Whether it observes the client's limits. A batch that was started by hand does not. */
  readonly isLimited: boolean;
  /** It has one of the `maxInFlight` slots. */
  hasSlot = false;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #onPassed: () => void;
  #phase: SyncPhase = { kind: 'starting' };
  #phaseSinceMs: number;

  /** @param onPassed called when the sync no longer waits for a limit or a connection */
  constructor(
    uid: string,
    signal: AbortSignalLike,
    isLimited: boolean,
    clock: Pick<Clock, 'monotonicMs'>,
    onPassed: () => void,
  ) {
    this.uid = uid;
    this.signal = signal;
    this.isLimited = isLimited;
    this.#clock = clock;
    this.#onPassed = onPassed;
    this.#phaseSinceMs = clock.monotonicMs();
  }

  get phase(): SyncPhase {
    return this.#phase;
  }

  /** On the monotonic clock. */
  get phaseSinceMs(): number {
    return this.#phaseSinceMs;
  }

  enter(phase: SyncPhase): void {
    this.#phase = phase;
    this.#phaseSinceMs = this.#clock.monotonicMs();
    if (phase.kind === 'response' || phase.kind === 'syncing') this.#onPassed();
  }

  /** Its DELETE waits for a connection or the response. */
  get isDeleting(): boolean {
    return 'verb' in this.#phase && this.#phase.verb === 'delete';
  }

  /** It waits for a limit or a connection, or may have to as soon as it makes its request. */
  get isHeldUp(): boolean {
    const { kind } = this.#phase;
    return kind !== 'response' && kind !== 'syncing' && kind !== 'ended';
  }
}
