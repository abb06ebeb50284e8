/** What one process measures with one number of pods. */
export interface ScaleFigures {
  /** Microseconds from setPodStatus until an API server that answers at once has taken it. */
  readonly update: number;
  /** Milliseconds of an idle full batch. */
  readonly idleBatch: number;
  /** Milliseconds of one call of inspect(). */
  readonly inspect: number;
  /** Heap bytes of the manager, all statuses written. */
  readonly heap: number;
}
