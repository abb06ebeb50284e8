/** What one process measures of one manager. Microseconds per call or pod, except for the last one. */
export interface MemoryTimes {
  readonly first: number;
  readonly same: number;
  readonly changed: number;
  readonly firstFullBatch: number;
  readonly laterFullBatch: number;
  /** Milliseconds. */
  readonly longestSlice: number;
}

export interface WorkerResult {
  readonly cold: MemoryTimes;
  readonly warm: MemoryTimes;
  /** Heap bytes per cached status. */
  readonly bytes: number;
}
