import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * A directory for one run of the agent that only its user can open: the kubeconfig, the agent's
 * log and what the containers print. Synchronous, so that it can be removed while the process ends.
 */
export class WorkDirectory {
  readonly path = mkdtempSync(join(tmpdir(), 'node-agent-')); // mode 0700
  readonly agentLogFile = join(this.path, 'agent.log');
  readonly podsDirectory = join(this.path, 'pods');
  readonly #kubeconfigFile = join(this.path, 'kubeconfig');
  #keepsLogs = false;

  /** The file holds a token, so nobody else may read it. Returns its path. */
  writeKubeconfig(text: string): string {
    writeFileSync(this.#kubeconfigFile, text, { mode: 0o600, flag: 'wx' });
    return this.#kubeconfigFile;
  }

  /** From now on `remove` leaves the logs where they are. */
  keepLogs(): void {
    this.#keepsLogs = true;
  }

  remove(): void {
    rmSync(this.#keepsLogs ? this.#kubeconfigFile : this.path, { recursive: true, force: true, maxRetries: 3 });
  }
}
