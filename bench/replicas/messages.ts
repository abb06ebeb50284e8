/** What the API server has seen so far. */
export interface ServerReply {
  readonly kubeConfig: object;
  readonly cpuMs: number;
  /** Received and sent, over all connections. */
  readonly bytes: number;
  readonly watches: number;
  /** Requests that have ended, by method and resource. */
  readonly requests: Readonly<Record<string, number>>;
}

/** To a replica: all its pods run, their containers have been restarted once more, nothing. */
export type ReplicaCommand = 'change' | 'run' | 'usage';

export interface ReplicaReply {
  readonly cpuMs: number;
  readonly rssBytes: number;
  /** The pods that the provider has accepted. */
  readonly pods: number;
}
