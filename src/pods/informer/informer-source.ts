import type { Clock } from '../../clock.ts';
import type { Pod } from '../../types.ts';
import type { PodSink, PodSource } from './pod-source.ts';

type Verb = 'add' | 'update' | 'delete';

/** What is used of an informer: client-node's `Informer<V1Pod>`, or anything that emits these three. */
export interface InformerLike {
  /** Registers a callback. */
  on(verb: Verb, callback: (pod: Pod) => void): unknown;
  /** Removes a callback. */
  off?(verb: Verb, callback: (pod: Pod) => void): unknown;
  /** What it holds already. */
  list?(): readonly Pod[];
}

/** Listens to an informer of the caller, which the caller starts, restarts and stops. */
export class InformerSource implements PodSource {
  readonly restarts = 0;
  readonly #informer: InformerLike;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #callbacks: readonly (readonly [Verb, (pod: Pod) => void])[] = [];
  #lastEventMs: number | undefined;

  constructor(informer: InformerLike, clock: Pick<Clock, 'monotonicMs'>) {
    this.#informer = informer;
    this.#clock = clock;
  }

  start(sink: PodSink): void {
    const on = (tell: (pod: Pod) => void) => (pod: Pod) => {
      this.#lastEventMs = this.#clock.monotonicMs();
      tell(pod);
    };
    this.#callbacks = [
      ['add', on((pod) => sink.upsert(pod))],
      ['update', on((pod) => sink.upsert(pod))],
      ['delete', on((pod) => sink.remove(pod))],
    ];
    for (const [verb, callback] of this.#callbacks) this.#informer.on(verb, callback);
    for (const pod of this.#informer.list?.() ?? []) sink.upsert(pod);
    sink.synced();
  }

  stop(): Promise<void> {
    for (const [verb, callback] of this.#callbacks) this.#informer.off?.(verb, callback);
    this.#callbacks = [];
    return Promise.resolve();
  }

  lastEventAgeMs(): number | undefined {
    return this.#lastEventMs === undefined ? undefined : this.#clock.monotonicMs() - this.#lastEventMs;
  }
}
