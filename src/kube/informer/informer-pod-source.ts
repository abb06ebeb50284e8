import type { InformerState } from '../pod-manager/pod-manager.ts';
import type { Pod } from '../objects/types.ts';
import type { ReflectorSink } from './reflector.ts';

/** Receives the API server's pods. */
export type InformerPodSink = ReflectorSink<Pod>;

/** The source of an `InformerPodManager`'s pods. */
export interface InformerPodSource {
  start(sink: InformerPodSink): void;
  /** Resolves when no request and no timer is left; the sink is not called after that. */
  stop(): Promise<void>;
  /** True: a pod that its list lacks has been deleted. Absent: the list of the caller's informer may be stale. */
  readonly listsNewest?: true;
  /** As `Reflector.requestSucceeded`; absent if the caller restarts the informer. */
  requestSucceeded?(): void;
  /** Lists and watches, or the caller's informer, that failed and were started again. */
  readonly restarts: number;
  /** Absent when nothing fails. */
  readonly failure?: InformerState['failure'];
}
