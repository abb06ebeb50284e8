/** An implementation that writes pod statuses to an API server. */
export interface Contestant {
  /** Sets a new status for every pod and resolves when all of them are written. */
  update(restartCount: number): Promise<void>;
  /** Requests made so far. */
  readonly requests: number;
  close(): Promise<void>;
}
