/** What one process measures with a given number of pods. */
export interface ScaleFigures {
  /** Microseconds from setPodStatus until an API server that responds immediately has accepted it. */
  readonly update: number;
  /** Milliseconds of an idle full batch. */
  readonly idleBatch: number;
  /** Milliseconds of one call of inspect(). */
  readonly inspect: number;
  /** Heap bytes of the manager, all statuses written. */
  readonly heap: number;
}
