import type { Dirent } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type Clock,
  compareQuantities,
  isPodPhaseTerminal,
  type Logger,
  type Pod,
  type Timer,
} from 'kubelet-status-manager';
import type { NodeAgent } from 'kubelet-status-manager/agent';
import type { NodeDirectory } from '../process-runtime/node-directory.ts';

interface EmptyDirVolume {
  readonly name: string;
  readonly emptyDir?: { readonly sizeLimit?: string | number } | null;
}

export interface EmptyDirLimitsOptions {
  readonly agent: Pick<NodeAgent, 'getPods' | 'evict' | 'statusManager'>;
  readonly directory: NodeDirectory;
  readonly clock: Pick<Clock, 'afterFunc'>;
  readonly logger: Pick<Logger, 'warn'>;
  /** How often the volumes are measured, in milliseconds. */
  readonly periodMs: number;
}

/** Source: kubelet `immediateEvictionGracePeriodSeconds`. */
const gracePeriodSeconds = 1;

/** Evicts pods that have more in an emptyDir volume than its `sizeLimit`. Source: kubelet `emptyDirLimitEviction`. */
export class EmptyDirLimits {
  readonly #options: EmptyDirLimitsOptions;
  readonly #evicted = new Set<string>();
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(options: EmptyDirLimitsOptions) {
    this.#options = options;
  }

  start(): void {
    const { clock, periodMs } = this.#options;
    this.#timer = clock.afterFunc(periodMs, () => {
      void this.check().finally(() => {
        if (!this.#isStopped) this.start();
      });
    });
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.stop();
  }

  /** Measures the volumes of all pods now. Never rejects. */
  async check(): Promise<void> {
    const { agent, logger } = this.#options;
    const pods = agent.getPods();
    const uids = new Set(pods.map(uidOf));
    for (const uid of this.#evicted) if (!uids.has(uid)) this.#evicted.delete(uid);
    for (const pod of pods) {
      if (this.#evicted.has(uidOf(pod)) || isPodPhaseTerminal(agent.statusManager.getPodStatus(uidOf(pod))?.phase))
        continue;
      const message = await this.#excess(pod);
      if (message === undefined || this.#isStopped) continue;
      this.#evicted.add(uidOf(pod));
      agent.evict(pod, { message, gracePeriodSeconds }).catch((error: unknown) => {
        logger.warn({ podUID: uidOf(pod), reason: String(error) }, 'Failed to evict pod');
      });
    }
  }

  /** Why the pod must be evicted; undefined if it need not be. */
  async #excess(pod: Pod): Promise<string | undefined> {
    for (const { name, emptyDir } of (pod.spec?.volumes ?? []) as readonly EmptyDirVolume[]) {
      const limit = emptyDir?.sizeLimit;
      if (limit == null) continue;
      const bytes = await bytesIn(this.#options.directory.volume(uidOf(pod), name));
      if ((compareQuantities(String(bytes), String(limit)) ?? 0) > 0) {
        return `Usage of EmptyDir volume "${name}" exceeds the limit "${limit}". `;
      }
    }
    return undefined;
  }
}

function uidOf({ metadata }: Pod): string {
  return metadata?.uid ?? '';
}

/** The total size of all files; a file that is removed in the meantime counts as empty. */
async function bytesIn(directory: string): Promise<number> {
  const entries = await readdir(directory, { withFileTypes: true }).catch((): Dirent[] => []);
  const sizes = entries.map(async (entry) => {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) return bytesIn(path);
    return (await lstat(path).catch(() => undefined))?.size ?? 0;
  });
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
