import type { ValidPod } from '../../kube/objects/types.ts';
import { FailureLog } from '../../shared/failure-log.ts';
import { Ticker } from '../../shared/ticker.ts';
import { OneAtATime } from '../../shared/one-at-a-time.ts';
import type { BoundedRuntime, NodeContext } from '../../node/index.ts';

export interface QOSCgroupsOptions extends Pick<NodeContext, 'clock' | 'logger'> {
  /** Its calls must end: a `boundedRuntime`. */
  readonly runtime: Pick<BoundedRuntime, 'updateQOSCgroups'>;
  readonly getActivePods: () => readonly ValidPod[];
}

/** Source: kubelet `periodicQOSCgroupUpdateInterval`. */
const periodMs = 60_000;

/** Has the cgroups of the QoS classes updated, also every minute; failures are logged. Source: kubelet `UpdateQOSCgroups`. */
export class QOSCgroups {
  readonly #options: QOSCgroupsOptions;
  readonly #failures: FailureLog;
  readonly #updates = new OneAtATime();
  readonly #ticker: Ticker;
  readonly #stop = new AbortController();

  constructor(options: QOSCgroupsOptions) {
    this.#options = options;
    const { clock, logger } = options;
    this.#failures = new FailureLog({ clock, logger, what: 'Updating the cgroups of the QoS classes' });
    this.#ticker = new Ticker(clock, periodMs, () => this.update(this.#stop.signal));
  }

  start(): void {
    this.#ticker.start();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#ticker.stop();
    await this.#ticker.whenIdle();
  }

  /** One update at a time, with the pods that are active when it begins. Never rejects. */
  update(signal?: AbortSignal): Promise<void> {
    if (this.#options.runtime.updateQOSCgroups === undefined) return Promise.resolve();
    return this.#updates.run(undefined, () => this.#update(signal));
  }

  async #update(signal: AbortSignal | undefined): Promise<void> {
    const { runtime, getActivePods } = this.#options;
    try {
      await runtime.updateQOSCgroups!(getActivePods(), { signal });
      this.#failures.succeeded();
    } catch (thrown) {
      if (signal?.aborted !== true) this.#failures.failed(thrown);
    }
  }
}
