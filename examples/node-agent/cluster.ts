import { APIServer } from 'kubelet-status-manager/testing';
import { AgentError } from './agent-error.ts';
import type { StoppableServer } from './outage.ts';
import { type KubeConfigFile, readKubeconfig } from './read-kubeconfig.ts';

/** The cluster that the agent's node is part of. */
export interface Cluster extends KubeConfigFile {
  /** The API server was started by this agent, and stops with it. */
  readonly isOwn: boolean;
  /** Absent for a cluster of somebody else. */
  readonly server?: StoppableServer;
  close(): Promise<void>;
}

/** Starts an API server in this process, which stores everything in memory. Port 0 selects a free port. */
export async function startOwnCluster(port: number): Promise<Cluster> {
  try {
    const server = await APIServer.start({ port });
    return { isOwn: true, server, kubeConfig: server.kubeconfig(), kubeConfigDir: '.', close: () => server.close() };
  } catch (error) {
    const isTaken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
    const hint = isTaken ? ' (choose another --port, or leave it out for a free one)' : '';
    throw AgentError.from(error, `cannot start an API server${hint}`);
  }
}

/** The cluster of a kubeconfig's current context. */
export async function openCluster(file: string): Promise<Cluster> {
  return { isOwn: false, ...(await readKubeconfig(file)), close: async () => {} };
}
