import { existsSync, readdirSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { AgentError } from './agent-error.ts';
import { makeDirectories } from './make-directories.ts';

/** Where an agent keeps its files, unless `--root-dir` says otherwise: the same for each run of a node. */
export function defaultRootDirectory(nodeName: string): string {
  return join(homedir(), '.node-agent', nodeName);
}

/**
 * The directory of a node: what the next agent has to know, the logs, and the kubeconfig of the
 * agent's own API server. Only the user can open it.
 */
export class RootDirectory {
  readonly path: string;
  readonly agentLogFile: string;
  readonly stateDirectory: string;
  readonly #kubeconfigFile: string;
  #keepsFiles = false;

  /** @throws AgentError when it cannot be used */
  constructor(path: string) {
    this.path = resolve(path);
    this.agentLogFile = join(this.path, 'agent.log');
    this.stateDirectory = join(this.path, 'state');
    this.#kubeconfigFile = join(this.path, 'kubeconfig');
    try {
      makeDirectories(this.path, 0o700);
    } catch (error) {
      throw AgentError.from(error, `--root-dir ${path}`);
    }
  }

  /** Writes the file, which only the user can read because it has a token. Returns its path. */
  writeKubeconfig(text: string): string {
    rmSync(this.#kubeconfigFile, { force: true });
    writeFileSync(this.#kubeconfigFile, text, { mode: 0o600, flag: 'wx' });
    return this.#kubeconfigFile;
  }

  /** Synchronous, so that it can be called while the process exits. */
  removeKubeconfig(): void {
    rmSync(this.#kubeconfigFile, { force: true });
  }

  /** From now on, `removeFiles` does nothing. */
  keepFiles(): void {
    this.#keepsFiles = true;
  }

  /** Removes the files of the agent; for when no container is left that the next agent has to find. */
  removeFiles(): void {
    if (this.#keepsFiles) return;
    const ofRuntime = ['pods', 'logs', 's', 'process-runtime.json'].map((name) => join(this.path, name));
    for (const path of [...ofRuntime, this.agentLogFile, this.stateDirectory]) {
      rmSync(path, { recursive: true, force: true, maxRetries: 3 });
    }
  }

  /** After an agent that has left nothing. */
  removeIfEmpty(): void {
    this.removeKubeconfig();
    if (existsSync(this.path) && readdirSync(this.path).length === 0) rmdirSync(this.path);
  }
}
