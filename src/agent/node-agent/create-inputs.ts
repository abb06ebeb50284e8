import { apiSource } from '../config/api-source.ts';
import { podSourceContext } from '../config/decode-manifest.ts';
import { PodConfig } from '../config/pod-config.ts';
import { apiSourceName } from '../config/pod-source.ts';
import { SourcesReady } from '../config/sources-ready.ts';
import { GenericPLEG } from '../pleg/generic-pleg.ts';
import { RuntimePodCache } from '../pleg/runtime-pod-cache.ts';
import { RuntimeState } from '../runtime/runtime-state.ts';
import { SyncLoopChannels } from '../sync-loop/sync-loop-channels.ts';
import type { AgentContext } from './agent-context.ts';
import type { AgentConnection } from './create-connection.ts';
import type { AgentPorts } from './create-ports.ts';
import type { NodeAgentOptions } from './node-agent-options.ts';

/** What the agent learns of the pods that it should run, and of those that run. */
export type AgentInputs = ReturnType<typeof createInputs>;

export function createInputs(
  options: NodeAgentOptions,
  { nodeName, clock, logger, recordMetric }: AgentContext,
  { informer, eventRecorder }: AgentConnection,
  { runtime }: AgentPorts,
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
    ...{ channels, podSources, sourcesReady, podConfig, podCache, pleg, runtimeState },
    podSourceContext: podSourceContext({ nodeName, clock, logger, apiPods: informer }),
  };
}
