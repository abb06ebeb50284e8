import type { Pod } from '../../types.ts';

/** Who is told what the API server has. */
export interface PodSink {
  /** All pods there are: others are gone. */
  replace(pods: readonly Pod[]): void;
  /** The pod is new or changed. */
  upsert(pod: Pod): void;
  remove(pod: Pod): void;
  /** From now on what was told is complete. */
  synced(): void;
}

/** Where an `InformerPodManager` has its pods from. */
export interface PodSource {
  start(sink: PodSink): void;
  /** Resolves when nothing of it is left; the sink is told nothing more. */
  stop(): Promise<void>;
  /** Time since the last sign of life, undefined before the first. */
  lastEventAgeMs(): number | undefined;
}
