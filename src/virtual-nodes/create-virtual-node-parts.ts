import {
  type APIConnection,
  APIEventRecorder,
  apiSource,
  createEventClient,
  createPodInputs,
  createPodLoop,
  createPodStatuses,
  createPodWorkers,
  type EventRecorder,
  type NodeContext,
  NodeReporter,
  type NodeWatch,
  nodeStatusOf,
  OwnNode,
  type RuntimePod,
  userAdmitHandler,
} from '../node/index.ts';
import { createInformerPodManager } from '../kube/informer/informer-pod-manager.ts';
import { version } from '../kube/http/user-agent.ts';
import { podFieldsOf } from '../kube/pods/pod-log-fields.ts';
import { tellingInformer } from '../kube/informer/with-informer.ts';
import type { Entropy } from '../shared/entropy.ts';
import { reasonOf } from '../shared/logger.ts';
import { MemoryState } from '../status-manager/allocation/memory-state.ts';
import { capabilityAdmitHandler } from './capabilities/undeclared-needs.ts';
import type { NodeLines } from './node-lines.ts';
import type { RequestLimiter } from '../status-manager/sync/request-limiter.ts';
import type { PodMaterialsReader } from './materials/pod-materials-reader.ts';
import type { OrphanedPods } from './pods/orphaned-pods.ts';
import type { ProviderPodReference, ProviderPod } from './pod-provider.ts';
import type { ProviderCalls, ProviderMethods } from './calls/provider-calls.ts';
import { PodProbes } from './probes/pod-probes.ts';
import { ProviderPodCache } from './pods/provider-pod-cache.ts';
import { hasEnded } from './pods/provider-pod-record.ts';
import type { ProviderPodLister } from './calls/provider-pod-lister.ts';
import { hasPodRun } from './pods/generate-provider-pod-status.ts';
import { ProviderPodSyncer } from './pods/provider-pod-syncer.ts';
import type { OwnedNode } from './replicas/node-ownership-options.ts';
import { callsWhileOwned, connectionWhileOwned } from './replicas/while-owned.ts';
import type { ResolvedProviderOptions, VirtualNodeOptions, VirtualNodesOptions } from './virtual-nodes-options.ts';

/** Declared by the Node if the provider takes updates. Source: component-helpers `nodedeclaredfeatures`. */
const resizeFeatures = ['InPlacePodLevelResourcesVerticalScaling', 'InPlacePodVerticalScalingInitContainers'];

/**
 * Most of the hundreds of nodes in a process are quiet. While the cloud has pods that must end, their deletion is repeated.
 * Divergence: the kubelet cleans up every two seconds.
 */
const housekeepingPeriodMs = { quiet: 30_000, ending: 10_000 } as const;

/**
 * Delays Events, so that those of many starting nodes do not slow down the requests that pods wait for.
 * Divergence: the kubelet writes them immediately.
 */
const eventDelayMs = 2000;

/** The default node info: nothing about the machine that this process runs on. */
const virtualNodeInfo = {
  architecture: 'amd64',
  kernelVersion: '',
  kubeletVersion: `v1.37.1-kubelet-status-manager-${version}`,
  operatingSystem: 'linux',
  osImage: '',
};

/** A port of the kubelet's API, as Nodes show it. */
export interface KubeletEndpoint {
  readonly kubeletPort: number;
  /** Declared by the Nodes because of what the port serves. */
  readonly features: readonly string[];
}

/** The ports of the kubelet's API. */
export interface KubeletEndpoints {
  /** For nodes without a port of their own. */
  shared?: KubeletEndpoint;
  readonly byNode: Map<string, KubeletEndpoint>;
}

/** What the nodes of a process share. */
export interface SharedParts extends ResolvedProviderOptions {
  readonly options: VirtualNodesOptions;
  readonly context: NodeContext;
  readonly api: APIConnection;
  /** The source of the reporters' identities. */
  readonly entropy: Entropy;
  /** The recorder of the options. Default: each node writes its own Events to the API server. */
  readonly eventRecorder: EventRecorder | undefined;
  readonly provider: ProviderMethods;
  readonly calls: ProviderCalls;
  readonly lister: ProviderPodLister;
  readonly materials: PodMaterialsReader;
  readonly orphanedPods: OrphanedPods;
  readonly endpoints: KubeletEndpoints;
  readonly limiter: RequestLimiter;
  readonly nodeLines: NodeLines;
  readonly nodeWatch: NodeWatch;
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
  const { options, provider, lister, materials, orphanedPods } = shared;
  const canResizePods = provider.updatePod !== undefined;
  const epoch = owned?.epoch ?? node.epoch ?? 0;
  const api = owned ? connectionWhileOwned(shared.api, owned) : shared.api;
  const calls = owned ? callsWhileOwned(shared.calls, owned) : shared.calls;
  const { clock, random, recordMetric } = shared.context;
  const logger = shared.nodeLines.loggerOf(nodeName);

  // What the node learns of the pods that it should run.
  const informer = createInformerPodManager({ client: api.podClient, nodeName, clock, random, logger });
  const requests = tellingInformer(api.requests, informer);
  const ownEventRecorder =
    shared.eventRecorder === undefined
      ? new APIEventRecorder({
          ...{ client: createEventClient(requests), nodeName, logger, clock, random },
          delayMs: eventDelayMs,
        })
      : undefined;
  const eventRecorder: EventRecorder = ownEventRecorder ?? shared.eventRecorder!;
  const context = { ...shared.context, nodeName, eventRecorder, logger };

  const source = apiSource();
  const inputs = createPodInputs(context, informer, [source]);
  const { channels, sourcesReady, podManager } = inputs;
  const podCache = new ProviderPodCache({
    ...{ nodeName, lister, clock, lostPods: shared.lostPods, lostAfterLists: shared.lostAfterLists },
    ...{ canUpdate: canResizePods, restarts: shared.capabilities.restarts, hostIPs },
    getPodByUID: (podUID) => podManager.getPodByUID(podUID),
    arePodsKnown: () => sourcesReady.allReady(),
    onLost: (podUID) => {
      recordMetric('node_agent_lost_pods_total', 1);
      const pod = podFieldsOf(podManager.getPodByUID(podUID) ?? { metadata: { uid: podUID } });
      logger.warn({ ...pod, node: nodeName }, 'The provider has lost the pod');
    },
    onEvent: (event) => channels.lifecycleEvent(event),
  });

  // The Node.
  const { endpoints } = shared;
  const nodeStatus = async () => {
    const { kubeletPort, features = [] } = endpoints.byNode.get(nodeName) ?? endpoints.shared ?? {};
    const declared = [...(canResizePods ? resizeFeatures : []), ...features];
    // No hostname: kube-apiserver would connect to it by default, and no DNS server knows the name of a virtual node.
    const status = await nodeStatusOf(node, { kubeletPort, features: declared });
    return { ...status, capacity: status.capacity ?? {}, nodeInfo: { ...virtualNodeInfo, ...status.nodeInfo } };
  };
  const nodeReporter = new NodeReporter(
    {
      ...node,
      ...{ nodeName, nodeStatus, transport: requests, recorder: eventRecorder, logger, clock, random },
      spreadHeartbeats: true,
    },
    shared.entropy.uuid(),
    shared.nodeWatch,
  );
  const ownNode = new OwnNode({ nodeName, node, nodeStatus, nodeReporter, clock, logger });

  // What runs the pods.
  const podStatuses = createPodStatuses(context, inputs, podCache, {
    // Divergence: the kubelet reads each pod before a patch.
    readBeforePatch: 'when-stale',
    ...options.statusManager,
    ...{ limiter: shared.limiter, qps: undefined, burst: undefined },
    allocationState: new MemoryState(),
    client: api.podClient,
    metrics: options.metrics,
    journal: node.journal,
  });
  const { statuses, statusManager } = podStatuses;
  const stop = new AbortController();
  const probes =
    shared.capabilities.probes === 'node'
      ? new PodProbes({
          ...{ nodeName, epoch, calls, callTimeoutMs: shared.callTimeoutMs, eventRecorder, clock },
          ...{ random, recordMetric },
          getPodByUID: (podUID) => podManager.getPodByUID(podUID),
          getPodStatus: (podUID) => statusManager.getPodStatus(podUID),
          onUpdate: (probeType, update) => channels.probeUpdated(probeType, update),
          signal: owned ? AbortSignal.any([stop.signal, owned.signal]) : stop.signal,
        })
      : undefined;
  const podSyncer = new ProviderPodSyncer({
    ...{ nodeName, provider, calls, podCache, orphanedPods, materials, epoch, probes },
    ...{ statusManager, eventRecorder, hostIPs, clock },
    onOrphanDeleted: () => recordMetric('orphaned_runtime_pods_total', 1),
    nodeFacts: () => ({ hostIPs: hostIPs ?? [], allocatable: ownNode.get()?.status?.allocatable ?? {} }),
  });
  const workers = createPodWorkers(context, podStatuses, podCache, podSyncer, (podUID) => {
    // No list shows more of a pod that has ended.
    if (!hasEnded(podCache.record(podUID))) lister.listSoon();
  });
  const { podWorkers, dispatcher } = workers;
  const mustNotRun = (podUID: string): boolean =>
    statuses.isPodKnownTerminated(podUID) || dispatcher.isRejected(podUID);

  // What admits pods, and brings the inputs to the workers.
  /** Not known before the first housekeeping. */
  let mayBeEnding = true;
  let settleFirstUpdate = (): void => {};
  const firstUpdate = new Promise<void>((resolve) => (settleFirstUpdate = resolve));
  const { allocationManager, syncLoop } = createPodLoop(context, inputs, workers, {
    ownNode,
    quietHousekeepingPeriodMs: () => housekeepingPeriodMs[mayBeEnding ? 'ending' : 'quiet'],
    stopSignal: stop.signal,
    admitHandlers: {
      after: [
        capabilityAdmitHandler({
          ...{ capabilities: shared.capabilities, methods: provider, undeclared: shared.undeclared, eventRecorder },
          hasRun: ({ status }) => hasPodRun(status),
        }),
        ...(canAdmitPod === undefined ? [] : [userAdmitHandler(canAdmitPod)]),
      ],
    },
    runtime: canResizePods ? { updateContainerResources: true, updatePodResources: true } : {},
    // A failing provider must not keep the statuses of other pods from being reported.
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
    canCleanUp: () => podCache.isListed,
    // A rejected pod has no worker, but it is not an orphan: the API server has it.
    listPods: async () =>
      podCache.listed().flatMap((pod) => (dispatcher.isRejected(pod.uid) ? [] : [toRuntimePod(pod)])),
    afterCleanups: (signal) => {
      const mustBeStopped = ({ uid, state }: ProviderPod): boolean => state !== 'stopped' && mustNotRun(uid);
      podSyncer.endPods(podCache.listed().filter(mustBeStopped), signal);
      mayBeEnding = podCache.isSomeEnding(mustNotRun);
    },
  });
  return {
    ...{ nodeName, epoch, clock, logger, metrics: options.metrics, source, firstUpdate, informer },
    isOwned: () => owned?.isOwned() ?? true,
    ...{ inputs, podCache, podManager, podWorkers, statuses, stop },
    ...{ statusManager, nodeReporter, ownNode, allocationManager, syncLoop, ownEventRecorder, materials },
  };
}

/** A pod of the provider occupies resources as long as it is listed. */
function toRuntimePod({ uid, namespace, name }: ProviderPodReference): RuntimePod {
  return { uid, namespace, name, containers: [], sandboxes: [{ id: uid, ready: true }] };
}
