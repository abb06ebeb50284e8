/** What the API server has seen so far. */
export interface ServerReply {
  readonly kubeConfig: object;
  readonly cpuMs: number;
  /** Received and sent, over all connections. */
  readonly bytes: number;
  readonly watches: number;
  /** Requests that have ended, by method and resource. */
  readonly requests: Readonly<Record<string, number>>;
  /** The pods that run, and those whose containers have been restarted. */
  readonly shown: Readonly<Record<'change' | 'run', number>>;
}

/** To the API server: create all pods, or nothing. */
export type ServerCommand = 'create' | 'usage';

/** To a replica: all its pods run, their containers have been restarted once more, count its nodes, nothing. */
export type ReplicaCommand = 'change' | 'run' | 'nodes' | 'usage';

export interface ReplicaReply {
  readonly cpuMs: number;
  readonly rssBytes: number;
  /** The pods that the provider has accepted. */
  readonly pods: number;
  /** The nodes that it owns; only for `nodes`, which takes CPU time. */
  readonly nodes?: number | undefined;
}
