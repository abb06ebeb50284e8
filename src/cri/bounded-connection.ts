import { boundedCall } from '../shared/deadline.ts';
import type { Clock } from '../shared/clock.ts';
import type { CRIConnection } from './cri-connection.ts';

/** Source: kubelet `runtimeRequestTimeout`. */
const requestTimeoutMs = 120_000;

/**
 * Bounds the calls of a connection: a call without a signal ends after two minutes, and when `stopSignal` is aborted.
 */
export function boundedConnection(
  connection: CRIConnection,
  clock: Pick<Clock, 'afterFunc'>,
  stopSignal: AbortSignal,
): CRIConnection {
  const bounds = { clock, timeoutMs: requestTimeoutMs, signals: [stopSignal] };
  return {
    get isConnected() {
      return connection.isConnected;
    },
    call: (method, request, options = {}) =>
      options.signal === undefined
        ? boundedCall(`${method} of the runtime`, bounds, (bounded) => connection.call(method, request, bounded))
        : connection.call(method, request, options),
    containerEvents: (listener) => connection.containerEvents(listener),
    stream: (call, listener) => connection.stream(call, listener),
    close: () => connection.close(),
  };
}
