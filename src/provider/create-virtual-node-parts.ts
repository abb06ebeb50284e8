import { CriticalPodAdmission } from '../agent/admission/critical-pod-admission.ts';
import { OwnNode } from '../agent/admission/own-node.ts';
import { PredicateAdmitHandler } from '../agent/admission/predicate-admit-handler.ts';
import { AllocationManager } from '../agent/allocation/allocation-manager.ts';
import { apiSource } from '../agent/config/api-source.ts';
import { podSourceContext } from '../agent/config/decode-manifest.ts';
import { PodConfig } from '../agent/config/pod-config.ts';
import { SourcesReady } from '../agent/config/sources-ready.ts';
import { APIEventRecorder } from '../agent/events/api-event-recorder.ts';
import { createEventClient } from '../agent/events/event-client.ts';
import type { EventRecorder } from '../agent/events/event-recorder.ts';
import { NodeReporter } from '../agent/node/node-reporter.ts';
import type { NodeContext } from '../agent/node-agent/node-context.ts';
import { userAdmitHandler } from '../agent/node-agent/admit-handlers.ts';
import type { APIConnection } from '../agent/node-agent/api-connection.ts';
import { nodeStatusOf } from '../agent/node-agent/node-status-of.ts';
import { PodWorkers } from '../agent/pod-workers/pod-workers.ts';
import type { RuntimePod } from '../agent/runtime/container-runtime.ts';
import { filterOutInactivePods } from '../agent/sync-loop/active-pods.ts';
import { handlePodCleanups } from '../agent/sync-loop/pod-cleanups.ts';
import { PodDispatcher } from '../agent/sync-loop/pod-dispatcher.ts';
import { SyncHandler } from '../agent/sync-loop/sync-handler.ts';
import { SyncLoopChannels } from '../agent/sync-loop/sync-loop-channels.ts';
import { AgentSyncLoop } from '../agent/sync-loop/sync-loop.ts';
import { BasicPodManager } from '../kube/basic-pod-manager.ts';
import { createInformerPodManager } from '../kube/informer/informer-pod-manager.ts';
import { withInformer } from '../kube/informer/with-informer.ts';
import type { ValidPod } from '../kube/types.ts';
import { reasonOf } from '../shared/logger.ts';
import { MemoryState } from '../status-manager/allocation/memory-state.ts';
import type { RequestLimiter } from '../status-manager/sync/request-limiter.ts';
import { StatusManager } from '../status-manager/status-manager.ts';
import type { PodMaterialsReader } from './materials/pod-materials-reader.ts';
import type { OrphanedPods } from './orphaned-pods.ts';
import type { PodReference, ProviderPod } from './pod-provider.ts';
import type { ProviderCalls, ProviderMethods } from './provider-calls.ts';
import { ProviderPodCache } from './provider-pod-cache.ts';
import type { ProviderPodLister } from './provider-pod-lister.ts';
import { ProviderPodSyncer } from './provider-pod-syncer.ts';
import type { OwnedNode } from './replicas/node-ownership-options.ts';
import { callsWhileOwned, connectionWhileOwned } from './replicas/while-owned.ts';
import type { ResolvedProviderOptions, VirtualNodeOptions, VirtualNodesOptions } from './virtual-nodes-options.ts';

/** Declared by the Node if the provider takes updates. Source: component-helpers `nodedeclaredfeatures`. */
const resizeFeatures = ['InPlacePodLevelResourcesVerticalScaling', 'InPlacePodVerticalScalingInitContainers'];

/** Of hundreds of nodes in one process, most are quiet. Divergence: the kubelet cleans up every two seconds. */
const quietHousekeepingPeriodMs = 10_000;

/**
 * The Events of nodes that start together do not delay what their pods wait for.
 * Divergence: the kubelet writes them immediately.
 */
const eventDelayMs = 2000;

/** A port of the kubelet's API, as Nodes show it. */
export interface KubeletEndpoint {
  readonly kubeletPort: number;
  /** Declared by the Nodes because of what the port serves. */
  readonly features: readonly string[];
}

/** The ports of the kubelet's API. */
export interface KubeletEndpoints {
  /** Of the nodes that have none of their own. */
  shared?: KubeletEndpoint;
  readonly byNode: Map<string, KubeletEndpoint>;
}

/** What the nodes of a process share. */
export interface SharedParts extends ResolvedProviderOptions {
  readonly options: VirtualNodesOptions;
  readonly context: NodeContext;
  readonly api: APIConnection;
  /** The recorder of the options. Default: each node writes its own Events to the API server. */
  readonly eventRecorder: EventRecorder | undefined;
  readonly provider: ProviderMethods;
  readonly calls: ProviderCalls;
  readonly lister: ProviderPodLister;
  readonly materials: PodMaterialsReader;
  readonly orphanedPods: OrphanedPods;
  readonly endpoints: KubeletEndpoints;
  readonly limiter: RequestLimiter;
}

/** The parts of a virtual node. */
export type VirtualNodeParts = ReturnType<typeof createVirtualNodeParts>;

/**
 * Sends nothing before it is started.
 * @param owned with `replicas`, the ownership
 * @throws StatusManagerError INVALID_OPTION; `path` names the option
 */
export function createVirtualNodeParts(node: VirtualNodeOptions, shared: SharedParts, owned?: OwnedNode) {
  const { nodeName, addresses: hostIPs, canAdmitPod } = node;
  const { options, provider, lister, materials, orphanedPods, lostMisses, lostPods } = shared;
  const epoch = owned?.epoch ?? node.epoch ?? 0;
  const api = owned ? connectionWhileOwned(shared.api, owned) : shared.api;
  const calls = owned ? callsWhileOwned(shared.calls, owned) : shared.calls;
  const { clock, logger, random, recordMetric } = shared.context;

  // What the node learns of the pods that it should run, and of those that run.
  const channels = new SyncLoopChannels();
  const informer = createInformerPodManager({ client: api.podClient, nodeName, clock, random, logger });
  const ownEventRecorder =
    shared.eventRecorder === undefined
      ? new APIEventRecorder({
          ...{ client: createEventClient(api.requests), nodeName, logger, clock, random },
          delayMs: eventDelayMs,
        })
      : undefined;
  const eventRecorder: EventRecorder = ownEventRecorder ?? shared.eventRecorder!;
  const source = apiSource();
  const sourcesReady = new SourcesReady([source.name]);
  const podConfig = new PodConfig({
    ...{ clock, logger, eventRecorder },
    onUpdate: (update) => channels.configUpdated(update),
  });
  const podManager = withInformer(new BasicPodManager(), informer);
  const podCache = new ProviderPodCache({
    ...{ nodeName, lister, lostMisses, clock },
    getPodByUID: (podUID) => podManager.getPodByUID(podUID),
    arePodsKnown: () => sourcesReady.allReady(),
    onEvent: (event) => channels.lifecycleEvent(event),
  });

  // What runs the pods.
  const allocationState = new MemoryState();
  const podWorkers = new PodWorkers({
    ...{ podCache, allocationState, clock, logger, eventRecorder, random, recordMetric },
    requestRelist: () => lister.listSoon(),
  });
  const dispatcher = new PodDispatcher({ podManager, podWorkers });
  const statusManager = new StatusManager({
    // Divergence: the kubelet reads each pod before a patch.
    readBeforePatch: 'when-stale',
    ...options.statusManager,
    ...{ limiter: shared.limiter, qps: undefined, burst: undefined },
    ...{ podManager, podDeletionSafety: podWorkers, allocationState, clock, logger, random, eventRecorder },
    client: api.podClient,
    metrics: options.metrics,
    journal: node.journal,
  });
  const podSyncer = new ProviderPodSyncer({
    ...{
      nodeName,
      provider,
      calls,
      podCache,
      orphanedPods,
      materials,
      epoch,
      lostPods,
      statusManager,
      eventRecorder,
      hostIPs,
      clock,
    },
    nodeFacts: () => ({ hostIPs: hostIPs ?? [], allocatable: ownNode.get()?.status?.allocatable ?? {} }),
  });
  podWorkers.connect(podSyncer);
  const getActivePods = (): ValidPod[] =>
    filterOutInactivePods(podManager.getPods(), { podWorkers, podStatusProvider: statusManager });

  // The Node.
  const canResizePods = provider.updatePod !== undefined;
  const { endpoints } = shared;
  const nodeStatus = () => {
    const { kubeletPort, features = [] } = endpoints.byNode.get(nodeName) ?? endpoints.shared ?? {};
    const declared = [...(canResizePods ? resizeFeatures : []), ...features];
    // No hostname: kube-apiserver would connect to it by default, and no DNS server knows the name of a virtual node.
    return nodeStatusOf(node, { kubeletPort, features: declared });
  };
  const nodeReporter = new NodeReporter({
    ...node,
    ...{ nodeName, nodeStatus, transport: api.requests, recorder: eventRecorder, logger, clock, random },
    spreadHeartbeats: true,
  });
  const ownNode = new OwnNode({ nodeName, node, nodeStatus, nodeReporter, clock, logger });

  // What admits pods, and brings the inputs to the workers.
  const stop = new AbortController();
  const allocationManager = new AllocationManager({
    ...{ statusManager, allocationState, getActivePods, clock, logger, eventRecorder },
    runtime: canResizePods ? { updateContainerResources: true, updatePodResources: true } : {},
    admitHandlers: [
      new PredicateAdmitHandler({
        nodeName,
        getNode: () => ownNode.get(),
        criticalPodAdmission: new CriticalPodAdmission({
          podWorkers,
          stopSignal: stop.signal,
          clock,
          logger,
          eventRecorder,
          recordMetric,
        }),
      }),
      ...(canAdmitPod === undefined ? [] : [userAdmitHandler(canAdmitPod)]),
    ],
    getPodByUID: (podUID) => podManager.getPodByUID(podUID),
    allSourcesReady: () => sourcesReady.allReady(),
    triggerPodSync: (pod) => dispatcher.syncPods([pod]),
  });
  const handler = new SyncHandler({
    ...{ podManager, podWorkers, dispatcher, getActivePods, statusManager, allocationManager },
    ...{ eventRecorder, logger, recordMetric },
    shouldSync: (pod) => podSyncer.activeDeadlineHandler.shouldSync(pod),
    areSourcesReady: () => sourcesReady.allReady(),
  });
  const podCleanups = {
    ...{ podManager, podWorkers, statusManager, allocationManager, podSyncer, logger },
    // A rejected pod has no worker, and is no orphan: the API server has it.
    listPods: async () =>
      podCache.listed().flatMap((pod) => (dispatcher.isRejected(pod.uid) ? [] : [toRuntimePod(pod)])),
  };
  let settleFirstUpdate = (): void => {};
  const firstUpdate = new Promise<void>((resolve) => (settleFirstUpdate = resolve));
  const syncLoop = new AgentSyncLoop({
    ...{ handler, channels, sourcesReady, quietHousekeepingPeriodMs, clock, logger },
    // A provider that fails does not keep the statuses of other pods from being reported.
    runtimeErrors: () => [],
    onFirstUpdate: ({ pods }) => {
      settleFirstUpdate();
      try {
        for (const pod of pods) podManager.addPod(pod);
        statusManager.resume({ pods });
      } catch (thrown) {
        logger.error({ reason: reasonOf(thrown) }, 'Failed to adopt the statuses of an earlier run');
        statusManager.start();
      }
    },
    prepareAdditions: (pods, signal) => ownNode.prepareAdmission(pods, signal),
    handlePodCleanups: async (signal) => {
      if (!podCache.isListed) return;
      await handlePodCleanups(podCleanups, signal);
      const mustEnd = ({ uid, state }: ProviderPod): boolean =>
        state !== 'stopped' && (podWorkers.isPodKnownTerminated(uid) || dispatcher.isRejected(uid));
      podSyncer.endPods(podCache.listed().filter(mustEnd), signal);
    },
  });
  return {
    ...{ nodeName, epoch, clock, logger, metrics: options.metrics, lister, source, podConfig, firstUpdate, informer },
    isOwned: () => owned?.isOwned() ?? true,
    ...{ podCache, podManager, podWorkers, stop },
    ...{ statusManager, nodeReporter, ownNode, allocationManager, syncLoop, ownEventRecorder, materials },
    podSourceContext: podSourceContext({ nodeName, clock, logger, apiPods: informer }),
  };
}

/** A pod of the provider occupies resources as long as it is listed. */
function toRuntimePod({ uid, namespace, name }: PodReference): RuntimePod {
  return { uid, namespace, name, containers: [], sandboxes: [{ id: uid, ready: true }] };
}
