import type { Clock } from '../../shared/clock.ts';
import { type Failure, FailureLog } from '../../shared/failure-log.ts';
import type { Logger } from '../../shared/logger.ts';
import type { BoundedVolumeManager } from './bounded-volume-manager.ts';

export interface OrphanedPodDirsOptions {
  /** Default: there are no folders of pods. */
  readonly volumeManager: Pick<BoundedVolumeManager, 'cleanupOrphanedPodDirs'> | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Removes the folders of orphaned pods in the background, with one call of the volume manager at a time: many files, or a
 * volume manager that hangs, delay no pod.
 *
 * Divergence: the kubelet removes them in housekeeping, during which its sync loop does nothing else.
 */
export class OrphanedPodDirs {
  readonly #options: OrphanedPodDirsOptions;
  readonly #failures: FailureLog;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;

  constructor(options: OrphanedPodDirsOptions) {
    this.#options = options;
    this.#failures = new FailureLog({ ...options, what: 'Removing the folders of orphaned pods' });
  }

  /** Why they cannot be removed; undefined if they can. */
  get failure(): Failure | undefined {
    return this.#failures.failure;
  }

  /** Does nothing while an earlier call is in progress. `existing` is asked right before each removal. */
  cleanUp(existing: Pick<ReadonlySet<string>, 'has'>): void {
    if (this.#stop.signal.aborted) return;
    this.#running ??= this.#cleanUp(existing).finally(() => (this.#running = undefined));
  }

  /** Begins no more removals. The file call in progress, which nobody can end, may outlive it. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #cleanUp(existing: Pick<ReadonlySet<string>, 'has'>): Promise<void> {
    const { signal } = this.#stop;
    try {
      await this.#options.volumeManager?.cleanupOrphanedPodDirs?.(existing, { signal });
      this.#failures.succeeded();
    } catch (thrown) {
      if (!signal.aborted) this.#failures.failed(thrown);
    }
  }
}
