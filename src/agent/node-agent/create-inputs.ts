import { apiSource, apiSourceName, createPodInputs } from '../../node/index.ts';
import { GenericPLEG } from '../pleg/generic-pleg.ts';
import { RuntimePodCache } from '../pleg/runtime-pod-cache.ts';
import { RuntimeState } from '../pleg/runtime-state.ts';
import type { AgentContext } from './agent-context.ts';
import type { AgentConnection } from './create-connection.ts';
import type { AgentPorts } from './create-ports.ts';
import type { NodeAgentOptions } from './node-agent-options.ts';

/** The pods that the agent should run, and those that the runtime runs. */
export type AgentInputs = ReturnType<typeof createInputs>;

export function createInputs(
  { client, sources = [] }: NodeAgentOptions,
  context: AgentContext,
  { informer, eventRecorder }: AgentConnection,
  { runtime }: AgentPorts,
) {
  const { clock, logger, recordMetric } = context;
  const hasAPISource = sources.some(({ name }) => name === apiSourceName);
  const podSources = client === undefined || hasAPISource ? sources : [...sources, apiSource()];
  const podInputs = createPodInputs({ ...context, eventRecorder }, informer, podSources);

  // The pods of the runtime.
  const podCache = new RuntimePodCache(runtime);
  const pleg = new GenericPLEG({
    ...{ runtime, cache: podCache, clock, logger, recordMetric },
    onEvent: (event) => podInputs.channels.lifecycleEvent(event),
  });
  const runtimeState = new RuntimeState({
    ...{ runtime, clock, logger },
    healthErrors: () => {
      const reason = pleg.unhealthyReason();
      return reason === undefined ? [] : [`PLEG is not healthy: ${reason}`];
    },
  });
  return { ...podInputs, podCache, pleg, runtimeState };
}
