import type { Pod } from '../types.ts';
import type { InformerPodSink, InformerPodSource } from './pod-source.ts';

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
export class InformerSource implements InformerPodSource {
  readonly restarts = 0;
  readonly #informer: InformerLike;
  #callbacks: readonly (readonly [Verb, (pod: Pod) => void])[] = [];

  constructor(informer: InformerLike) {
    this.#informer = informer;
  }

  start(sink: InformerPodSink): void {
    this.#callbacks = [
      ['add', (pod) => sink.upsert(pod)],
      ['update', (pod) => sink.upsert(pod)],
      ['delete', (pod) => sink.remove(pod)],
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
}
