import { untilAborted } from '../../shared/abort.ts';
import type { Clock } from '../../shared/clock.ts';
import { Semaphore } from '../../shared/semaphore.ts';
import { boundedCall, CallTimeoutError } from '../../shared/deadline.ts';
import { type Logger, thrownFields } from '../../shared/logger.ts';
import type { RecordKubeletMetric } from '../../observe/kubelet-metrics.ts';
import { type PodProvider, ProviderError } from '../pod-provider.ts';

export interface ProviderCallsOptions {
  readonly provider: PodProvider;
  readonly clock: Clock;
  /** Maximum duration of a call. */
  readonly callTimeoutMs: number;
  /** Maximum number of calls for pods at the same time. */
  readonly concurrency: number;
  readonly recordMetric: RecordKubeletMetric;
  readonly logger: Logger;
}

/** Calls of the provider, by the names that metrics have. */
export type ProviderOperation =
  | 'create_pod'
  | 'update_pod'
  | 'delete_pod'
  | 'get_pod'
  | 'kill_container'
  | 'exec'
  | 'list_pods'
  | 'stats';

/** Makes the call. Other code has no access to the methods of the provider. */
export type ProviderCall<T> = (options: { readonly signal: AbortSignal }, provider: PodProvider) => Promise<T>;

export interface BoundedProviderCall {
  /** For the log. */
  readonly podUID?: string | undefined;
  /** Default: `callTimeoutMs`. */
  readonly timeoutMs?: number | undefined;
}

/** The maximum number of lines of the provider's code whose stack is logged. */
const maxLoggedStacks = 100;

/** Which methods the provider has, for code that calls them through `ProviderCalls`. */
export type ProviderMethods = { readonly [Name in keyof PodProvider]?: unknown };

/**
 * Makes the calls of a provider. Each has a time-out, calls for one pod are made one after the other, and at most `concurrency`
 * calls at the same time. An aborted call rejects immediately, but the next call for the pod waits until the provider has
 * settled the aborted one, or until its time-out.
 */
export class ProviderCalls {
  readonly #options: ProviderCallsOptions;
  readonly #slots: Semaphore;
  /**
   * By pod UID, the end of the last call. It is not in the record of the pod, because it outlives the node: a call that was aborted
   * when the node was handed over may still run when this process takes the node again.
   */
  readonly #lastCalls = new Map<string, Promise<void>>();
  /** One function for each call that the provider has not settled; it ends the call. */
  readonly #inProgress = new Set<() => void>();

  /** Operations and lines of code whose stack has been logged. */
  readonly #loggedPlaces = new Set<string>();

  constructor(options: ProviderCallsOptions) {
    this.#options = options;
    this.#slots = new Semaphore({ size: options.concurrency, clock: options.clock });
  }

  /** The number of calls for pods that the provider has not settled yet. */
  get inProgress(): number {
    return this.#inProgress.size;
  }

  /** Calls that wait because `concurrency` others are in progress. */
  get queue(): Pick<Semaphore, 'longestWaitMs' | 'waiting'> {
    return this.#slots;
  }

  /** Called when the process stops and all calls were aborted. Does not wait until the provider has settled them. */
  stop(): void {
    for (const end of this.#inProgress) end();
  }

  /** Makes a call for a pod when it is its turn. */
  async forPod<T>(
    podUID: string,
    operation: ProviderOperation,
    signal: AbortSignal,
    call: ProviderCall<T>,
  ): Promise<T> {
    const previous = this.#lastCalls.get(podUID) ?? Promise.resolve();
    let end = (): void => {};
    const ended = new Promise<void>((resolve) => (end = resolve));
    const last = previous.then(() => ended);
    this.#lastCalls.set(podUID, last);
    void last.then(() => {
      if (this.#lastCalls.get(podUID) === last) this.#lastCalls.delete(podUID);
    });
    try {
      await untilAborted(previous, signal);
      await this.#slots.acquire(signal);
      // If the signal has been aborted by now, no call follows that would release the slot.
      if (signal.aborted) this.#slots.release();
      signal.throwIfAborted();
    } catch (thrown) {
      end();
      throw thrown;
    }
    const { clock, callTimeoutMs } = this.#options;
    this.#inProgress.add(end);
    const timer = clock.afterFunc(callTimeoutMs, end);
    void ended.then(() => {
      timer.stop();
      this.#inProgress.delete(end);
      this.#slots.release();
    });
    const endingCall: ProviderCall<T> = async (options, provider) => {
      try {
        return await call(options, provider);
      } finally {
        end();
      }
    };
    return this.bounded(operation, signal, endingCall, { podUID });
  }

  /**
   * Logs an error that is not a ProviderError, which may be a mistake in the provider: once for each operation and line of code
   * that throws.
   */
  #logStack(operation: ProviderOperation, error: unknown, podUID: string | undefined): void {
    const thrown = thrownFields(error);
    if (thrown.stack === undefined) return;
    // A message may differ each time.
    const place = `${operation} ${/^ +at .*$/m.exec(thrown.stack)?.[0]}`;
    if (this.#loggedPlaces.has(place) || this.#loggedPlaces.size >= maxLoggedStacks) return;
    this.#loggedPlaces.add(place);
    const fields = { operation, ...(podUID !== undefined && { podUID }), ...thrown };
    this.#options.logger.warn(fields, 'The provider threw an error that is not a ProviderError');
  }

  /** Makes a call that waits for no other call. */
  async bounded<T>(
    operation: ProviderOperation,
    signal: AbortSignal,
    call: ProviderCall<T>,
    { podUID, timeoutMs = this.#options.callTimeoutMs }: BoundedProviderCall = {},
  ): Promise<T> {
    const { provider, clock, recordMetric } = this.#options;
    const startedMs = clock.monotonicMs();
    let result: CallResult = 'ok';
    try {
      return await boundedCall(
        `${operation} of the provider`,
        { clock, timeoutMs, signals: [signal] },
        async (options) => {
          try {
            return await call(options, provider);
          } catch (thrown) {
            const error = errorOf(thrown);
            if (!(error instanceof ProviderError) && !options.signal.aborted) this.#logStack(operation, error, podUID);
            throw error;
          }
        },
      );
    } catch (error) {
      result = resultOf(error, signal);
      recordMetric('runtime_operations_errors_total', 1, operation);
      throw error;
    } finally {
      recordMetric('runtime_operations_total', 1, operation);
      recordMetric('node_agent_provider_calls_total', 1, operation, result);
      recordMetric('runtime_operations_duration_seconds', (clock.monotonicMs() - startedMs) / 1000, operation);
    }
  }
}

/** How a call ended, for metrics; `retry`: a `ProviderError` with `retryAfterMs`. */
type CallResult = 'ok' | 'error' | 'permanent' | 'retry' | 'timeout' | 'aborted';

function resultOf(error: unknown, signal: AbortSignal): CallResult {
  if (signal.aborted) return 'aborted';
  if (error instanceof CallTimeoutError) return 'timeout';
  if (!(error instanceof ProviderError)) return 'error';
  if (error.permanent) return 'permanent';
  return error.retryAfterMs === undefined ? 'error' : 'retry';
}

/** A copy of what a provider threw: each field is read once, because reading it may throw. */
function errorOf(thrown: unknown): unknown {
  try {
    if (!(thrown instanceof ProviderError)) return thrown;
    const { message, permanent, retryAfterMs, reason } = thrown;
    return new ProviderError(message, { permanent, retryAfterMs, reason, cause: thrown });
  } catch {
    return new Error('The provider threw an error that cannot be read');
  }
}
