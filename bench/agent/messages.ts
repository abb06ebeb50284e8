/** The node of the agent and its pods. */
export const nodeName = 'node-a';

export type ServerCommand = 'when-ready' | 'when-exited';

export interface ServerReply {
  readonly kubeConfig: object;
  /** Of each container that has exited: from its exit until the API server had the PATCH that shows it. */
  readonly exitToPatchMs: readonly number[];
}

/** What a process has used since its start. */
export interface Usage {
  readonly atMs: number;
  readonly cpuMs: number;
  readonly rssBytes: number;
}
