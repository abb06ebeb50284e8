import type { InformerState } from '../pod-manager.ts';
import type { Pod } from '../types.ts';

/** Receives the pods that the API server has. */
export interface InformerPodSink {
  /** The complete list of pods. */
  replace(pods: readonly Pod[]): void;
  /** The pod is new or changed. */
  upsert(pod: Pod): void;
  remove(pod: Pod): void;
  /** The first list is complete. */
  synced(): void;
  /** The API server has said something that changes no pod. */
  bookmark(): void;
}

/** Where an `InformerPodManager` gets its pods from. */
export interface InformerPodSource {
  start(sink: InformerPodSink): void;
  /** Resolves when no request and no timer is left; the sink is not called after that. */
  stop(): Promise<void>;
  /** Lists and watches that failed and were started again; 0 when the caller restarts the informer. */
  readonly restarts: number;
  /** Absent when nothing fails, or when nothing is known of it. */
  readonly failure?: InformerState['failure'];
}
