import { setMaxListeners } from 'node:events';
import { type BoundedMethods, boundedPort } from '../../shared/bounded-port.ts';
import { createHandlerRunner, type HandlerRunner } from '../pod-syncer/handler-runner.ts';
import { boundedProber, boundedRuntime, createProber } from '../../node/index.ts';
import { boundedVolumeManager } from '../volumes/bounded-volume-manager.ts';
import type { AgentContext } from './agent-context.ts';
import type { AgentConnection } from './create-connection.ts';
import type { NodeAgentOptions } from './node-agent-options.ts';

const defaultRuntimeRequestTimeoutMs = 120_000;

/** As in the kubelet, the caller decides how long a hook may take: a postStart hook may take as long as its container runs. */
const hookMethods: BoundedMethods<HandlerRunner> = {
  run: { parameters: 2, takesSignal: true, timeoutMs: () => Number.POSITIVE_INFINITY },
};

/** The ports of the options, with calls that always end. No other part of the agent calls the ports directly. */
export type AgentPorts = ReturnType<typeof createPorts>;

export function createPorts(
  options: NodeAgentOptions,
  { clock, logger, recordMetric }: AgentContext,
  { eventRecorder }: AgentConnection,
) {
  const calls = new AbortController();
  setMaxListeners(0, calls.signal);
  const signal: AbortSignal = calls.signal;
  const { runtimeRequestTimeoutMs: requestTimeoutMs = defaultRuntimeRequestTimeoutMs } = options;
  const runtime = boundedRuntime(options.runtime, { clock, requestTimeoutMs, signal, recordMetric });
  const { volumeManager, prober, handlerRunner } = options;
  return {
    runtime,
    volumeManager: volumeManager && boundedVolumeManager(volumeManager, { clock, signal }),
    prober: boundedProber(prober ?? createProber({ runtime, recorder: eventRecorder, logger, clock }), {
      ...{ clock, timeoutMs: requestTimeoutMs, signal },
    }),
    handlerRunner: boundedPort<HandlerRunner>(handlerRunner ?? createHandlerRunner({ runtime, clock, eventRecorder }), {
      ...{ name: 'the handler runner', methods: hookMethods, clock, timeoutMs: requestTimeoutMs, signal },
    }),
    /** Aborted when the agent has stopped: no call is in progress after that. */
    stopSignal: signal,
    /** Aborts the calls in progress, and rejects new ones. */
    abort: () => calls.abort(new Error('The agent is being stopped')),
  };
}
