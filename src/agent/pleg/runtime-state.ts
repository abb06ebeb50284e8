import type { Clock } from '../../shared/clock.ts';
import { FailureLog } from '../../shared/failure-log.ts';
import type { Logger } from '../../shared/logger.ts';
import { Ticker } from '../../shared/ticker.ts';
import type { BoundedRuntime, RuntimeCondition } from '../../node/index.ts';

export interface RuntimeStateOptions {
  /** Without the method `status`, its runtime and its network count as ready. */
  readonly runtime: Pick<BoundedRuntime, 'status'>;
  /** Why other parts cannot observe the runtime; empty if they can. Source: kubelet `addHealthCheck`. */
  readonly healthErrors: () => readonly string[];
  readonly clock: Pick<Clock, 'afterFunc' | 'monotonicMs' | 'now'>;
  readonly logger: Logger;
}

/** Source: kubelet `Run`. */
const periodMs = 5000;
/** Source: kubelet `maxWaitForContainerRuntime`. */
const downAfterMs = 30_000;

/**
 * Asks the runtime every 5 s whether it and its network are ready. While the runtime is not ready, no pod is synced;
 * while the network is not ready, only pods with hostNetwork are started. Source: kubelet `runtimeState`,
 * `updateRuntimeUp`.
 */
export class RuntimeState {
  readonly #options: RuntimeStateOptions;
  readonly #ticker: Ticker;
  readonly #statusFailures: FailureLog;
  readonly #networkFailures: FailureLog;
  readonly #stop = new AbortController();
  #updating: Promise<void> | undefined;
  /** When the runtime was last ready. */
  #readyAtMs: number | undefined;
  #runtimeError: string | undefined;
  #networkError: string | undefined = 'network state unknown';

  constructor(options: RuntimeStateOptions) {
    const { clock, logger } = options;
    this.#options = options;
    this.#ticker = new Ticker(clock, periodMs, () => this.#update());
    this.#statusFailures = new FailureLog({ clock, logger, what: 'The status check of the container runtime' });
    this.#networkFailures = new FailureLog({
      clock,
      logger,
      what: { failed: 'Container runtime network is not ready', recovered: 'Container runtime network is ready again' },
    });
  }

  start(): void {
    if (this.#options.runtime.status === undefined) return;
    this.#ticker.start();
    void this.#update();
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error('The agent is being stopped'));
    this.#ticker.stop();
    await this.#updating;
  }

  /** Resolves when no status is being read. */
  async whenUpdated(): Promise<void> {
    await this.#updating;
  }

  /** Why no pod can be synced; empty if they can. Source: kubelet `runtimeErrors`. */
  runtimeErrors(): string[] {
    const { runtime, healthErrors } = this.#options;
    const own = runtime.status === undefined ? [] : [this.#syncError(), this.#runtimeError];
    const [syncError, runtimeError] = own;
    return [syncError, ...healthErrors(), runtimeError].filter((error) => error !== undefined);
  }

  /** Why pods without hostNetwork cannot be started; empty if they can. Source: kubelet `networkErrors`. */
  networkErrors(): string[] {
    if (this.#options.runtime.status === undefined || this.#networkError === undefined) return [];
    return [this.#networkError];
  }

  #syncError(): string | undefined {
    if (this.#readyAtMs === undefined) return 'container runtime status check may not have completed yet';
    return this.#options.clock.monotonicMs() - this.#readyAtMs < downAfterMs ? undefined : 'container runtime is down';
  }

  /** Reads the status, or joins a read in progress. Never rejects. */
  #update(): Promise<void> {
    this.#updating ??= this.#readStatus().finally(() => (this.#updating = undefined));
    return this.#updating;
  }

  async #readStatus(): Promise<void> {
    const { runtime, clock } = this.#options;
    let conditions: readonly RuntimeCondition[];
    try {
      ({ conditions } = await runtime.status!({ signal: this.#stop.signal }));
    } catch (thrown) {
      if (!this.#stop.signal.aborted) this.#statusFailures.failed(thrown);
      return;
    }
    this.#statusFailures.succeeded();
    this.#networkError = errorOf(conditions, 'NetworkReady', 'container runtime network not ready');
    if (this.#networkError === undefined) this.#networkFailures.succeeded();
    else this.#networkFailures.failed(new Error(this.#networkError));
    // Logged by the sync loop.
    this.#runtimeError = errorOf(conditions, 'RuntimeReady', 'container runtime not ready');
    if (this.#runtimeError === undefined) this.#readyAtMs = clock.monotonicMs();
  }
}

/** The error of a condition, as the kubelet formats it; undefined if the condition is true. */
function errorOf(conditions: readonly RuntimeCondition[], type: string, what: string): string | undefined {
  const condition = conditions.find((each) => each.type === type);
  if (condition === undefined) return `${what}: nil`;
  const { status, reason = '', message = '' } = condition;
  return status ? undefined : `${what}: ${type}=${status} reason:${reason} message:${message}`;
}
