import { LightAbortController } from '../../shared/abort.ts';
import type { Clock } from '../../shared/clock.ts';
import { tryCall } from '../../shared/guarded.ts';
import { type Logger, thrownFields } from '../../shared/logger.ts';
import { Semaphore } from '../../shared/semaphore.ts';
import { APIError, describeAbort } from '../client/api-error.ts';
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
  readonly #connections: Semaphore;
  readonly #options: ConnectionQueueOptions;

  constructor(options: ConnectionQueueOptions) {
    this.#options = options;
    const { connections: size, clock, logger } = options;
    this.#connections = new Semaphore({ size, clock, warning: { option: 'connections', logger } });
  }

  /**
   * Takes a connection; `leave()` returns it. Returns undefined if one was free, else a promise that
   * rejects with an `APIError`: `connection-wait` after `waitTimeoutMs`, or the signal's reason.
   */
  enter(request: QueuedRequest): Promise<void> | undefined {
    return this.#connections.tryAcquire() ? undefined : this.#wait(request);
  }

  leave(): void {
    this.#connections.release();
  }

  async #wait({ signal, onQueued, onStarted }: QueuedRequest): Promise<void> {
    if (signal?.aborted) throw describeAbort(signal);
    const { connections, waitTimeoutMs, clock } = this.#options;
    this.#report('onQueued', onQueued);
    const wait = new LightAbortController();
    const onAbort = (): void => wait.abort(describeAbort(signal!));
    signal?.addEventListener('abort', onAbort);
    const timeout = clock.afterFunc(waitTimeoutMs, () => {
      const message = `no connection became free within ${waitTimeoutMs} ms (all ${connections} are in use)`;
      wait.abort(new APIError(message, { kind: 'connection-wait' }));
    });
    try {
      await this.#connections.acquire(wait.signal);
    } finally {
      timeout.stop();
      signal?.removeEventListener('abort', onAbort);
    }
    this.#report('onStarted', onStarted);
  }

  #report(method: string, call: (() => void) | undefined): void {
    const { logger } = this.#options;
    if (call) tryCall(call, (thrown) => logger.warn({ ...thrownFields(thrown), method }, 'User callback threw'));
  }
}

export function closedError(): APIError {
  return new APIError('the transport is closed', { kind: 'aborted' });
}
