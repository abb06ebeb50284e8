import type { Clock } from '../../shared/clock.ts';
import { tryCall } from '../../shared/guarded.ts';
import { type Logger, thrownFields } from '../../shared/logger.ts';
import { APIError, describeAbort } from '../client/api-error.ts';
import { InFlightBound } from '../client/in-flight-bound.ts';
import type { KubeRequestOptions } from './kube-transport.ts';

export interface ConnectionQueueOptions {
  readonly connections: number;
  readonly waitTimeoutMs: number;
  readonly clock: Pick<Clock, 'monotonicMs' | 'afterFunc'>;
  readonly logger: Pick<Logger, 'warn'>;
}

type QueuedRequest = Pick<KubeRequestOptions, 'signal' | 'onQueued' | 'onStarted'>;

/** A FIFO queue of requests that wait for a connection of a pool. */
export class ConnectionQueue {
  readonly #bound: InFlightBound;
  readonly #options: ConnectionQueueOptions;

  constructor(options: ConnectionQueueOptions) {
    this.#options = options;
    this.#bound = new InFlightBound({ size: options.connections, clock: options.clock, logger: options.logger });
  }

  /**
   * Takes a connection; `leave()` returns it. Returns undefined if one was free, else a promise that
   * rejects with an `APIError`: `connection-wait` after `waitTimeoutMs`, or the signal's reason.
   */
  enter(request: QueuedRequest): Promise<void> | undefined {
    return this.#bound.tryEnter() ? undefined : this.#wait(request);
  }

  leave(): void {
    this.#bound.leave();
  }

  #wait({ signal, onQueued, onStarted }: QueuedRequest): Promise<void> {
    if (signal?.aborted) return Promise.reject(describeAbort(signal));
    const { waitTimeoutMs, clock, logger } = this.#options;
    const report = (method: string, call: (() => void) | undefined): unknown =>
      call && tryCall(call, (thrown) => logger.warn({ ...thrownFields(thrown), method }, 'User callback threw'));
    report('onQueued', onQueued);
    return new Promise((resolve, reject) => {
      const waiter = {};
      const end = (): void => {
        this.#bound.withdraw(waiter);
        timeout.stop();
        signal?.removeEventListener('abort', onAbort);
      };
      const onAbort = (): void => {
        end();
        reject(describeAbort(signal!));
      };
      const timeout = clock.afterFunc(waitTimeoutMs, () => {
        end();
        const message = `no connection became free within ${waitTimeoutMs} ms (all ${this.#bound.size} are in use)`;
        reject(new APIError(message, { kind: 'connection-wait' }));
      });
      signal?.addEventListener('abort', onAbort);
      this.#bound.wait(waiter, () => {
        end();
        this.#bound.tryEnter();
        resolve();
        report('onStarted', onStarted);
      });
    });
  }
}
