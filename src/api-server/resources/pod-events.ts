import type { Pod } from '../../kube/objects/types.ts';
import type { Clock } from '../../shared/clock.ts';

/** One change of a pod on an API server, as a watch reports it. Source: apimachinery `watch.Event`. */
export interface PodWatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  /** The pod after the change; for a deletion its last state. */
  readonly pod: Pod;
}

/** The pods of an API server without HTTP: a `FakePodClient`, or `APIServer.pods`. */
export interface PodEvents {
  /** The clock of the fake. A status manager on the system clock logs a warning if this is another clock. */
  readonly clock?: Pick<Clock, 'afterFunc'> | undefined;
  /** All current pods. */
  list(): Pod[];
  /** Calls `listener` right after every change, until the returned function is called. */
  subscribe(listener: (event: PodWatchEvent) => void): () => void;
}
