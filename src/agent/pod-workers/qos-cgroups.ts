import type { ValidPod } from '../../kube/types.ts';
import type { Clock } from '../../shared/clock.ts';
import { FailureLog } from '../../shared/failure-log.ts';
import type { Logger } from '../../shared/logger.ts';
import { boundedRuntime } from '../runtime/bounded-runtime.ts';
import type { ContainerRuntime } from '../runtime/container-runtime.ts';

const requestTimeoutMs = 120_000;

export interface QOSCgroupsOptions {
  readonly runtime: ContainerRuntime;
  readonly getActivePods: () => readonly ValidPod[];
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Has the cgroups of the QoS classes updated; failures are logged. Source: kubelet `UpdateQOSCgroups`. */
export class QOSCgroups {
  readonly #options: QOSCgroupsOptions;
  readonly #runtime: ContainerRuntime;
  readonly #failures: FailureLog;
  #last: Promise<void> = Promise.resolve();

  constructor(options: QOSCgroupsOptions) {
    this.#options = options;
    const { runtime, clock, logger } = options;
    this.#runtime = boundedRuntime(runtime, { clock, requestTimeoutMs });
    this.#failures = new FailureLog({ clock, logger, what: 'Updating the cgroups of the QoS classes' });
  }

  /** One update at a time, with the pods that are active when it begins. Never rejects. */
  update(signal?: AbortSignal): Promise<void> {
    if (this.#runtime.updateQOSCgroups === undefined) return Promise.resolve();
    this.#last = this.#last.then(() => this.#update(signal));
    return this.#last;
  }

  async #update(signal: AbortSignal | undefined): Promise<void> {
    try {
      await this.#runtime.updateQOSCgroups!(this.#options.getActivePods(), { signal });
      this.#failures.succeeded();
    } catch (thrown) {
      if (signal?.aborted !== true) this.#failures.failed(thrown);
    }
  }
}
