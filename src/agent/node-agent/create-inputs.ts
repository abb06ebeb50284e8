import { setMaxListeners } from 'node:events';
import { apiSource } from '../config/api-source.ts';
import { podSourceContext } from '../config/decode-manifest.ts';
import { PodConfig } from '../config/pod-config.ts';
import { apiSourceName } from '../config/pod-source.ts';
import { SourcesReady } from '../config/sources-ready.ts';
import { GenericPLEG } from '../pleg/generic-pleg.ts';
import { RuntimePodCache } from '../pleg/runtime-pod-cache.ts';
import { boundedRuntime } from '../runtime/bounded-runtime.ts';
import { RuntimeState } from '../runtime/runtime-state.ts';
import { SyncLoopChannels } from '../sync-loop/sync-loop-channels.ts';
import type { AgentContext } from './agent-context.ts';
import type { AgentConnection } from './create-connection.ts';
import type { NodeAgentOptions } from './node-agent-options.ts';

const defaultRuntimeRequestTimeoutMs = 120_000;

/** What the agent learns of the pods that it should run, and of those that run. */
export type AgentInputs = ReturnType<typeof createInputs>;

export function createInputs(
  options: NodeAgentOptions,
  { nodeName, clock, logger, recordMetric }: AgentContext,
  { informer, eventRecorder }: AgentConnection,
) {
  const channels = new SyncLoopChannels();

  // The pods of the sources.
  const { client, sources = [] } = options;
  const hasAPISource = sources.some(({ name }) => name === apiSourceName);
  const podSources = client === undefined || hasAPISource ? sources : [...sources, apiSource()];
  const sourcesReady = new SourcesReady(podSources.map(({ name }) => name));
  const podConfig = new PodConfig({
    ...{ clock, logger, eventRecorder },
    onUpdate: (update) => channels.configUpdated(update),
  });

  // The pods of the runtime.
  const runtimeCalls = new AbortController();
  setMaxListeners(0, runtimeCalls.signal);
  const runtime = boundedRuntime(options.runtime, {
    clock,
    requestTimeoutMs: options.runtimeRequestTimeoutMs ?? defaultRuntimeRequestTimeoutMs,
    signal: runtimeCalls.signal,
    recordMetric,
  });
  const podCache = new RuntimePodCache(runtime);
  const pleg = new GenericPLEG({
    ...{ runtime, cache: podCache, clock, logger, recordMetric },
    onEvent: (event) => channels.lifecycleEvent(event),
  });
  const runtimeState = new RuntimeState({
    ...{ runtime, clock, logger },
    healthErrors: () => {
      const reason = pleg.unhealthyReason();
      return reason === undefined ? [] : [`PLEG is not healthy: ${reason}`];
    },
  });

  return {
    ...{ channels, podSources, sourcesReady, podConfig, runtime, podCache, pleg, runtimeState },
    podSourceContext: podSourceContext({ nodeName, clock, logger, apiPods: informer }),
    /** Aborts the runtime calls in progress, and rejects new ones. */
    abortRuntimeCalls: () => runtimeCalls.abort(new Error('The agent is being stopped')),
  };
}
