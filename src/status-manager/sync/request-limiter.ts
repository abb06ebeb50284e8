import { TokenBucket } from '../../shared/token-bucket.ts';
import type { Clock } from '../../shared/clock.ts';
import { refuseOption, requireObject } from '../../shared/errors.ts';
import type { Logger } from '../../shared/logger.ts';
import { Semaphore } from '../../shared/semaphore.ts';
import { resolveClock, resolveLogger } from '../../shared/ports.ts';
import { positiveInteger } from '../../shared/option-checks.ts';
import { ClientLimiter } from './client-limiter.ts';

/** Options of a `RequestLimiter`. */
export interface RequestLimiterOptions {
  /** Requests per second in the long run; default no limit. kubelet: `--kube-api-qps`. */
  readonly qps?: number | undefined;
  /** Maximum burst of requests after an idle period; default `qps`, rounded up. kubelet: `--kube-api-burst`. */
  readonly burst?: number | undefined;
  /**
   * Maximum number of pods in flight across all managers that share the limiter; managers take turns.
   * Each pod has one request in flight. Default: no limit besides the connections of the client.
   */
  readonly maxInFlight?: number | undefined;
  /** Gets a warning when pods wait long for their turn. Default: pino at level `warn`. */
  readonly logger?: Partial<Logger> | undefined;
  /** Default: the system clock. */
  readonly clock?: Clock | undefined;
}

/**
 * Limits requests with a token bucket and a bound on pods in flight. Several managers may share one
 * limiter. A 429 or 503 pauses only the client that received it, not other clients of the limiter.
 *
 * @example
 * ```ts
 * import { RequestLimiter, StatusManager } from 'kubelet-status-manager';
 *
 * const limiter = new RequestLimiter({ qps: 50, burst: 100 });
 * const podCouldHaveRunningContainers = () => false;
 * const first = new StatusManager({ client, podCouldHaveRunningContainers, limiter });
 * const second = new StatusManager({ client, podCouldHaveRunningContainers, limiter });
 * ```
 */
export class RequestLimiter {
  readonly #clock: Clock;
  readonly #bucket: TokenBucket;
  readonly #slots: Semaphore | undefined;
  readonly #users = new WeakMap<object, ClientLimiter>();

  /** @throws StatusManagerError INVALID_OPTION, or INVALID_ARGUMENT when `options` is not an object */
  constructor(options: RequestLimiterOptions = {}) {
    requireObject('options', options);
    const { qps = Number.POSITIVE_INFINITY, maxInFlight } = options;
    requirePositive('qps', qps);
    const burst = options.burst ?? Math.ceil(qps);
    requirePositive('burst', burst);
    const clock = resolveClock(options.clock);
    this.#clock = clock;
    this.#bucket = new TokenBucket(qps, burst, clock);
    if (maxInFlight !== undefined) {
      positiveInteger('maxInFlight', maxInFlight);
      this.#slots = new Semaphore({
        ...{ size: maxInFlight, clock },
        warning: { option: 'maxInFlight', logger: resolveLogger(options.logger) },
      });
    }
  }

  /** The limiter for the managers of one client; the same object for the same client, and for clients of one transport. */
  forClient(client: object): ClientLimiter {
    const { transport: user = client } = client as { readonly transport?: object };
    let limiter = this.#users.get(user);
    if (limiter === undefined) {
      limiter = new ClientLimiter(this.#bucket, this.#slots, this.#clock);
      this.#users.set(user, limiter);
    }
    return limiter;
  }
}

function requirePositive(option: string, value: number): void {
  if (typeof value !== 'number' || !(value > 0)) refuseOption(option, 'a number > 0', value);
}
