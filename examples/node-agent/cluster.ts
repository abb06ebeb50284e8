import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { KubeConfigObject } from 'kubelet-status-manager/http';
import { APIServer } from 'kubelet-status-manager/testing';
import { parse } from 'yaml';
import { AgentError } from './agent-error.ts';
import type { StoppableServer } from './outage.ts';

/** The cluster that the agent's node is part of. */
export interface Cluster {
  /** The API server was started by this agent, and stops with it. */
  readonly isOwn: boolean;
  /** Absent for a cluster of somebody else. */
  readonly server?: StoppableServer;
  readonly kubeConfig: KubeConfigObject;
  /** Base directory of relative file names in `kubeConfig`. */
  readonly kubeConfigDir: string;
  close(): Promise<void>;
}

/** Starts an API server in this process, which stores everything in memory. Port 0 selects a free port. */
export async function startOwnCluster(port: number): Promise<Cluster> {
  try {
    const server = await APIServer.start({ port });
    return { isOwn: true, server, kubeConfig: server.kubeconfig(), kubeConfigDir: '.', close: () => server.close() };
  } catch (error) {
    throw AgentError.from(error, 'cannot start an API server');
  }
}

/** The cluster of a kubeconfig's current context. Error messages never contain the contents of the file. */
export async function openCluster(file: string): Promise<Cluster> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    throw AgentError.from(error, `--kubeconfig ${file}`);
  }
  let kubeConfig: KubeConfigObject | null;
  try {
    kubeConfig = parse(text, { logLevel: 'silent' }) as KubeConfigObject | null;
  } catch {
    throw new AgentError(`--kubeconfig ${file}: this is not valid YAML`);
  }
  if (typeof kubeConfig?.['current-context'] !== 'string') {
    throw new AgentError(`--kubeconfig ${file}: this is not a kubeconfig with a current-context`);
  }
  return { isOwn: false, kubeConfig, kubeConfigDir: dirname(file), close: async () => {} };
}
