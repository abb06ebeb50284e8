import { fileURLToPath } from 'node:url';
import type { Pod } from 'kubelet-status-manager';
import { type Child, startChild } from '../children.ts';

export type Command = 'kill' | 'start-again' | 'pods';

export interface Reply {
  readonly kubeConfig: object;
  /** The pods on the server. Only after the start and for the command `pods`. */
  readonly pods: readonly Pod[];
}

/** Starts the APIServer in another process and creates this many pods. */
export function startServer(latencyMs: number, pods: number): Promise<Child<Command, Reply>> {
  return startChild(fileURLToPath(new URL('server.js', import.meta.url)), [String(latencyMs), String(pods)]);
}
