import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * A directory for one run of the agent that only its user can open. It has the kubeconfig, the agent's
 * log and the output of the containers. Synchronous, so that it can be removed while the process exits.
 */
export class WorkDirectory {
  readonly path = mkdtempSync(join(tmpdir(), 'node-agent-')); // mode 0700
  readonly agentLogFile = join(this.path, 'agent.log');
  readonly podsDirectory = join(this.path, 'pods');
  readonly #kubeconfigFile = join(this.path, 'kubeconfig');
  #keepsLogs = false;

  /** Writes the file, which only the user can read because it has a token. Returns its path. */
  writeKubeconfig(text: string): string {
    writeFileSync(this.#kubeconfigFile, text, { mode: 0o600, flag: 'wx' });
    return this.#kubeconfigFile;
  }

  /** From now on, `remove` keeps the logs. */
  keepLogs(): void {
    this.#keepsLogs = true;
  }

  remove(): void {
    rmSync(this.#keepsLogs ? this.#kubeconfigFile : this.path, { recursive: true, force: true, maxRetries: 3 });
  }
}
