/** What the API server has seen so far. */
export interface ServerReply {
  readonly kubeConfig: object;
  readonly cpuMs: number;
  /** Received and sent, over all connections. */
  readonly bytes: number;
  readonly watches: number;
  /** Requests that have ended, by method and resource. */
  readonly requests: Readonly<Record<string, number>>;
  /** The pods that were created. */
  readonly created: number;
  /** The pods with a status, those that run, and those whose containers have been restarted. */
  readonly shown: Readonly<Record<'change' | 'create' | 'run', number>>;
}

/** To the API server: create the pods of the next nodes, or nothing. */
export type ServerCommand = 'create' | 'usage';

/** To a replica: some more of its pods run, or have been restarted; count its nodes, nothing. */
export type ReplicaCommand = 'change' | 'run' | 'nodes' | 'usage';

export interface ReplicaReply {
  readonly cpuMs: number;
  readonly rssBytes: number;
  /** The pods that run, or that have been restarted; only for these commands. */
  readonly changed?: number | undefined;
  /** The nodes that it owns; only for `nodes`, which takes CPU time. */
  readonly nodes?: number | undefined;
}
