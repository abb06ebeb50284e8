import { runtimeCalls } from '../node/index.ts';
import { type Bounded, type BoundedMethods, boundedPort } from '../shared/bounded-port.ts';
import type { Clock } from '../shared/clock.ts';
import type { KubeletAPIOptions } from './kubelet-api-options.ts';

type Runtime = KubeletAPIOptions['runtime'];

/** `openText` bounds it: a stream that arrives after the deadline must be ended. */
type Unbounded = 'streamContainerLog';

/** The runtime for the request handlers: each call is bounded. */
export type BoundedStreamingRuntime = Bounded<Omit<Runtime, Unbounded>> & Pick<Runtime, Unbounded>;

/** Source: kubelet `runtimeRequestTimeout`. */
export const requestTimeoutMs = 120_000;

/** These run until the client disconnects. */
const untilClosed = (): number => Number.POSITIVE_INFINITY;

const { getPod, listPods, execSync, imageFsStats, listPodStats } = runtimeCalls;
const methods: BoundedMethods<Omit<Runtime, Unbounded>> = {
  ...{ getPod, listPods, execSync, imageFsStats, listPodStats },
  getContainerLog: { parameters: 2 },
  getExec: { parameters: 4 },
  getAttach: { parameters: 3 },
  getPortForward: { parameters: 3 },
  exec: { parameters: 4, timeoutMs: untilClosed },
  attach: { parameters: 3, timeoutMs: untilClosed },
  portForward: { parameters: 4, timeoutMs: untilClosed },
};

/** The same runtime with a time-out for each call. @param signal of the server: aborts all calls */
export function boundedStreamingRuntime(
  runtime: Runtime,
  clock: Pick<Clock, 'afterFunc'>,
  signal: AbortSignal,
): BoundedStreamingRuntime {
  const streamContainerLog = runtime.streamContainerLog?.bind(runtime);
  return {
    ...boundedPort<Omit<Runtime, Unbounded>>(runtime, {
      ...{ name: 'the runtime', methods, clock, timeoutMs: requestTimeoutMs, signal },
    }),
    ...(streamContainerLog && { streamContainerLog }),
  };
}
