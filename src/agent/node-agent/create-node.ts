import {
  agentFeatures,
  type BoundedRuntime,
  NodeReporter,
  type NodeStatus,
  nodeStatusOf,
  OwnNode,
  type PodSyncStatuses,
  readyErrorsOf,
} from '../../node/index.ts';
import { ContainerGC, type ContainerGCOptions } from '../container-gc/container-gc.ts';
import { createEvictionManager } from '../eviction/create-eviction-manager.ts';
import { ImageGCManager, type ImageGCManagerOptions } from '../image-gc/image-gc-manager.ts';
import type { AgentContext } from './agent-context.ts';
import type { AgentConnection } from './create-connection.ts';
import type { AgentInputs } from './create-inputs.ts';
import type { AgentPorts } from './create-ports.ts';
import type { AgentWorkers } from './create-workers.ts';
import type { NodeAgentOptions } from './node-agent-options.ts';

/** The parts for the machine: what takes space on it, and its Node. */
export type AgentNode = ReturnType<typeof createNode>;

/** The endpoints in the next status of the Node. */
interface NodeEndpoints {
  /** Undefined if the agent does not serve the kubelet's API. */
  kubeletPort?: number;
  /** Of the kubelet's API. */
  features?: readonly string[];
}

/** `evictionManager` is undefined if nothing is measured, `imageGC` if images are not garbage-collected. */
export function createNode(
  options: NodeAgentOptions,
  context: AgentContext,
  connection: AgentConnection,
  ports: AgentPorts,
  inputs: AgentInputs,
  workers: AgentWorkers,
) {
  const { nodeName, clock, random, logger, machine, recordMetric } = context;
  const { api, eventRecorder } = connection;
  const { runtime, volumeManager } = ports;
  const { runtimeState, sourcesReady } = inputs;
  const { podWorkers, statuses, getActivePods, imagePullManager } = workers;
  const { node = {}, eviction } = options;

  const containerGC = new ContainerGC({
    ...{ nodeName, eventRecorder, runtime, clock, logger },
    podStateProvider: podStateProvider(statuses),
    areSourcesReady: () => sourcesReady.allReady(),
  });
  const imageGC = createImageGC(runtime, options, {
    ...{ nodeName, eventRecorder, recordMetric, clock, logger },
    beginImageGC: () => imagePullManager.beginPrune(),
  });
  const evictionManager = createEvictionManager({
    ...{ nodeName, runtime, podWorkers, statuses, getActivePods, containerGC, imageGC, volumeManager, eviction },
    ...{ eventRecorder, clock, logger },
    podEvicted: (signal) => recordMetric('evictions', 1, signal),
  });

  const endpoints: NodeEndpoints = {};
  const canResizePods = runtime.updateContainerResources !== undefined && runtime.updatePodResources !== undefined;
  const nodeStatus = (): Promise<NodeStatus> => {
    const { kubeletPort, features = [] } = endpoints;
    const declared = [...features, ...(canResizePods ? ['InPlacePodLevelResourcesVerticalScaling'] : [])];
    return nodeStatusOf(node || {}, { hostname: nodeName, kubeletPort, features: declared });
  };
  const nodeReporter =
    api && node !== false
      ? new NodeReporter(
          {
            ...node,
            declaredFeatures: agentFeatures,
            ...{ nodeName, transport: api.requests, recorder: eventRecorder, logger, clock, random },
            nodeStatus: async () => {
              const { conditions = [], ...status } = await nodeStatus();
              return { ...status, conditions: [...(evictionManager?.conditions() ?? []), ...conditions] };
            },
            readyErrors: () => [
              ...runtimeState.runtimeErrors(),
              ...runtimeState.networkErrors(),
              ...readyErrorsOf(node.readyErrors),
            ],
          },
          machine.entropy.uuid(),
        )
      : undefined;
  const ownNode = new OwnNode({
    ...{ nodeName, nodeStatus, nodeReporter, clock, logger },
    node: node === false ? undefined : node,
  });
  const { maxPodGracePeriodSeconds = 0 } = eviction ?? {};
  return { containerGC, imageGC, evictionManager, maxPodGracePeriodSeconds, endpoints, nodeReporter, ownNode };
}

function podStateProvider(statuses: PodSyncStatuses): ContainerGCOptions['podStateProvider'] {
  return {
    // Divergence: only after the pod is terminated. The kubelet removes the containers of an evicted pod
    // as soon as they have exited, so its worker may not see how they ended.
    shouldPodContentBeRemoved: (podUID) =>
      statuses.shouldPodContentBeRemoved(podUID) &&
      (statuses.isPodKnownTerminated(podUID) || !statuses.isPodTerminationRequested(podUID)),
    shouldPodRuntimeBeRemoved: (podUID) => statuses.shouldPodRuntimeBeRemoved(podUID),
  };
}

/** Undefined if it is switched off, or if the runtime has no images. */
function createImageGC(
  runtime: BoundedRuntime,
  { imageGC: policy = {} }: NodeAgentOptions,
  parts: Pick<
    ImageGCManagerOptions,
    'beginImageGC' | 'clock' | 'eventRecorder' | 'logger' | 'nodeName' | 'recordMetric'
  >,
): ImageGCManager | undefined {
  if (policy === false || policy.highThresholdPercent === 100 || !hasImages(runtime)) return undefined;
  return new ImageGCManager({ ...parts, policy, runtime });
}

function hasImages(runtime: BoundedRuntime): runtime is BoundedRuntime & ImageGCManagerOptions['runtime'] {
  return (['listImages', 'removeImage', 'imageFsStats'] as const).every((method) => runtime[method] !== undefined);
}
