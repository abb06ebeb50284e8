import type { BasicPodManager } from '../../kube/basic-pod-manager.ts';
import { isMirrorPod } from '../../kube/static-pods.ts';
import type { Pod } from '../../kube/types.ts';
import { StatusManagerError } from '../../shared/errors.ts';
import { type Logger, reasonOf } from '../../shared/logger.ts';
import { apiSourceName } from '../config/pod-source.ts';
import type { PodConfigUpdate } from '../config/pod-config.ts';
import type { SourcesReady } from '../config/sources-ready.ts';
import type { AgentStatusManager } from './node-agent-options.ts';

export interface StartUpOptions {
  readonly sourcesReady: SourcesReady;
  readonly statusManager: AgentStatusManager;
  readonly podManager: BasicPodManager;
  readonly logger: Logger;
}

/** The start-up steps that follow the first pods of each source. */
export class StartUp {
  /** Resolves when every source has delivered its pods; rejects when the agent is stopped first. */
  readonly ready: Promise<void>;
  /** Resolves when every source of static pods has delivered its pods. */
  readonly staticSourcesSeen: Promise<void>;
  readonly #options: StartUpOptions;
  #settleReady: (error?: StatusManagerError) => void = () => {};
  #settleStaticSourcesSeen: () => void = () => {};

  constructor(options: StartUpOptions) {
    this.#options = options;
    this.ready = new Promise((resolve, reject) => {
      this.#settleReady = (error) => (error === undefined ? resolve() : reject(error));
    });
    // stopped() rejects the promise; without a handler that would be an unhandled rejection.
    this.ready.catch(() => {});
    this.staticSourcesSeen = new Promise((resolve) => (this.#settleStaticSourcesSeen = resolve));
    this.#settleStaticSources(options.sourcesReady.waitingFor());
  }

  /** Call it before the first pods of a source are handled. */
  firstUpdate({ source, pods }: PodConfigUpdate): void {
    const waiting = this.#options.sourcesReady.waitingFor().filter((name) => name !== source);
    if (source === apiSourceName) this.#resume(pods, waiting.length === 0);
    this.#settleStaticSources(waiting);
    if (waiting.length === 0) this.#settleReady();
  }

  stopped(): void {
    this.#settleReady(new StatusManagerError('INVALID_STATE', 'The agent has been stopped'));
  }

  #settleStaticSources(waiting: readonly string[]): void {
    if (waiting.every((name) => name === apiSourceName)) this.#settleStaticSourcesSeen();
  }

  /**
   * Adopts the statuses of an earlier run before the first pod of the API server has a worker. Static pods
   * that are not known yet keep their statuses from the journal.
   */
  #resume(pods: readonly Pod[], areAllSourcesSeen: boolean): void {
    const { statusManager, podManager, logger } = this.#options;
    try {
      // Mirror pods tell to which API objects the statuses of static pods belong.
      for (const pod of pods) podManager.addPod(pod);
      const kept = areAllSourcesSeen ? [] : statusManager.recovered.map(({ podUID }) => podUID);
      const known = podManager.getPods().map(({ metadata }) => metadata.uid);
      statusManager.resume({
        pods: pods.filter((pod) => !isMirrorPod(pod)),
        otherPodUIDs: [...known, ...kept],
      });
    } catch (thrown) {
      logger.error({ reason: reasonOf(thrown) }, 'Failed to adopt the statuses of an earlier run');
      statusManager.start();
    }
  }
}
