import type { Json } from '../support/kube-http.ts';

/** What a watcher saw of a pod, and when. */
export interface PodEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly atMs: number;
  readonly object: Json;
}

/** What one run of a shape left: the watch events of its pods and their Events, in order. */
export interface Recording {
  readonly shape: string;
  readonly durationMs: number;
  /** Pod name → watch events. */
  readonly pods: Readonly<Record<string, readonly PodEvent[]>>;
  /** Pod name → Events as they are in the end, in the order in which they appeared. */
  readonly events: Readonly<Record<string, readonly Json[]>>;
  /** Why the shape could not be completed. */
  readonly error?: string;
}
