/** What one process measures of one manager. Microseconds per call or pod, but for the last. */
export interface MemoryTimes {
  readonly first: number;
  readonly same: number;
  readonly changed: number;
  readonly firstFullBatch: number;
  readonly laterFullBatch: number;
  /** Milliseconds. */
  readonly longestSlice: number;
}

export interface WorkerAnswer {
  readonly cold: MemoryTimes;
  readonly warm: MemoryTimes;
  /** Heap bytes per cached status. */
  readonly bytes: number;
}
