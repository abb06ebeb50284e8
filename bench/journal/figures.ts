/** What one process measures of a manager with a journal, while the API server is away. */
export interface JournalTimes {
  /** Microseconds per call of setPodStatus. */
  readonly first: number;
  /** Microseconds per call. */
  readonly changed: number;
  /** Milliseconds between two turns of the event loop, with one setPodStatus a turn. */
  readonly longestHold: number;
}
