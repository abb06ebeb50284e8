import type { Access } from '../kube-config.ts';

/** What an agent of the agent kit is started with. */
export interface KitAgentConfig extends Access {
  readonly nodeName: string;
  /** 1 for the first agent process, and one more for each process that replaces it. */
  readonly incarnation: number;
  /** The directory of the node, which the next agent uses, too. */
  readonly rootDir: string;
  /** The folder of the manifests of static pods. */
  readonly manifestDir: string;
  readonly requestTimeoutMs: number;
}
