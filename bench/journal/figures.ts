/** What one process measures of a manager with a journal while the API server is down. */
export interface JournalTimes {
  /** Microseconds per call of setPodStatus. */
  readonly first: number;
  /** Microseconds per call. */
  readonly changed: number;
  /** Longest time in milliseconds between two turns of the event loop, with one setPodStatus per turn. */
  readonly longestDelay: number;
}
