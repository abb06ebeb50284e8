import type { Pod } from '../types.ts';
import type { InformerPodSink, InformerPodSource } from './pod-source.ts';

type Verb = 'add' | 'update' | 'delete';

/** The subset of an informer that is used: client-node's `Informer<V1Pod>`, or any emitter of these three events. */
export interface InformerLike {
  /** Registers a callback. */
  on(verb: Verb, callback: (pod: Pod) => void): unknown;
  /** Removes a callback. */
  off?(verb: Verb, callback: (pod: Pod) => void): unknown;
  /** The pods in its cache. */
  list?(): readonly Pod[];
}

/** Listens to an informer that the caller starts, restarts and stops. */
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
