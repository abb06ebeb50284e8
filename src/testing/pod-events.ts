import type { Pod } from '../types.ts';

/** One change of a pod on an API server, as a watch tells it. */
export interface PodEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  /** The pod after the change; of a deletion its last state. */
  readonly pod: Pod;
}

/** Who tells of every change of a pod: `FakePodClient`, and `ApiServer.pods`. */
export interface PodEvents {
  /** Calls `listener` after every change, until the returned function is called. */
  subscribe(listener: (event: PodEvent) => void): () => void;
}
