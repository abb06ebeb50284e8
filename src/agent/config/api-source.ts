import { isMirrorPod, isStaticPod } from '../../kube/static-pods.ts';
import type { Logger } from '../../shared/logger.ts';
import type { Pod } from '../../kube/types.ts';
import { reasonOf } from '../failure-log.ts';
import type { PodSink } from './pod-config.ts';
import type { PodSource } from './pod-source.ts';

/** The node's pods on the API server, for example an `InformerPodManager`, which its owner starts. */
export interface APIPods {
  /** Resolves when the first list has been received. */
  whenSynced(): Promise<void>;
  /** Calls the listener for all known pods, and for every later change. Returns a function that unsubscribes. */
  subscribe(
    listener: {
      onPodAdded(pod: Pod): void;
      onPodUpdated(pod: Pod): void;
      onPodRemoved(pod: Pod): void;
    },
    options: { readonly includeMirrorPods: true },
  ): () => void;
}

/**
 * The pods of the API server, including mirror pods. Nothing is delivered before the first list has
 * been received, however long that takes. Source: kubelet `NewSourceApiserver`.
 */
export class APISource implements PodSource {
  readonly name = 'api';
  readonly #apiPods: APIPods;
  readonly #logger: Logger;
  readonly #pods = new Map<string, Pod>();
  #unsubscribe: (() => void) | undefined;
  #isStopped = false;
  /** False until the first list is complete. */
  #isSynced = false;

  constructor(apiPods: APIPods, logger: Logger) {
    this.#apiPods = apiPods;
    this.#logger = logger;
  }

  start(sink: PodSink): void {
    if (this.#unsubscribe !== undefined || this.#isStopped) return;
    const changed = (): void => {
      if (this.#isSynced && !this.#isStopped) sink([...this.#pods.values()]);
    };
    const upsert = (pod: Pod): void => {
      // A static pod that was added to the informer belongs to another source.
      if (isStaticPod(pod) && !isMirrorPod(pod)) return;
      this.#pods.set(pod.metadata?.uid ?? '', pod);
      changed();
    };
    const remove = (pod: Pod): void => {
      if (this.#pods.delete(pod.metadata?.uid ?? '')) changed();
    };
    const listener = { onPodAdded: upsert, onPodUpdated: upsert, onPodRemoved: remove };
    this.#unsubscribe = this.#apiPods.subscribe(listener, { includeMirrorPods: true });
    this.#apiPods.whenSynced().then(
      () => {
        this.#isSynced = true;
        changed();
      },
      (thrown: unknown) => {
        if (!this.#isStopped)
          this.#logger.error({ reason: reasonOf(thrown) }, 'Failed to list the pods of the API server');
      },
    );
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#unsubscribe?.();
  }
}
