import { setMaxListeners } from 'node:events';
import { platform, release } from 'node:os';
import type { AllocationState } from '../../status-manager/allocation/allocation-state.ts';
import { BasicPodManager } from '../../kube/basic-pod-manager.ts';
import type { Clock } from '../../shared/clock.ts';
import { tryCall } from '../../shared/guarded.ts';
import { type Logger, reasonOf } from '../../shared/logger.ts';
import type { ValidPod } from '../../kube/types.ts';
import { MemoryState } from '../../status-manager/allocation/memory-state.ts';
import { resolveClock, resolveLogger, resolveRandom } from '../../shared/ports.ts';
import { StatusManager } from '../../status-manager/status-manager.ts';
import { createInformerPodManager, type InformerPodManager } from '../../kube/informer/informer-pod-manager.ts';
import { CriticalPodAdmission } from '../admission/critical-pod-admission.ts';
import { PredicateAdmitHandler } from '../admission/predicate-admit-handler.ts';
import { safeSysctlAllowlist, SysctlAllowlist } from '../admission/sysctl-allowlist.ts';
import { AllocationManager } from '../allocation/allocation-manager.ts';
import { apiSource } from '../config/api-source.ts';
import { ContainerGC, type ContainerGCOptions } from '../container-gc/container-gc.ts';
import { PodConfig } from '../config/pod-config.ts';
import { apiSourceName } from '../config/pod-source.ts';
import { podSourceContext } from '../config/decode-manifest.ts';
import { SourcesReady } from '../config/sources-ready.ts';
import { APIEventRecorder } from '../events/api-event-recorder.ts';
import { createEventClient } from '../events/event-client.ts';
import type { EventRecorder } from '../events/event-recorder.ts';
import { ImageGCManager, type ImageGCManagerOptions } from '../image-gc/image-gc-manager.ts';
import { createEvictionManager } from '../eviction/create-eviction-manager.ts';
import { createMirrorPodAPI } from '../mirror/mirror-pod-api.ts';
import { type MirrorNode, MirrorPodClient } from '../mirror/mirror-pod-client.ts';
import { MirrorPods } from '../mirror/mirror-pods.ts';
import { readyErrorsOf } from '../node/node-conditions.ts';
import { NodeReporter } from '../node/node-reporter.ts';
import { OwnNode } from '../node/own-node.ts';
import type { NodeStatus } from '../node/node-types.ts';
import { GenericPLEG } from '../pleg/generic-pleg.ts';
import { RuntimePodCache } from '../pleg/runtime-pod-cache.ts';
import { AgentPodSyncer } from '../pod-workers/agent-pod-syncer.ts';
import { PodWorkers } from '../pod-workers/pod-workers.ts';
import { QOSCgroups } from '../pod-workers/qos-cgroups.ts';
import { createProber } from '../prober/create-prober.ts';
import { ProberManager } from '../prober/prober-manager.ts';
import { boundedRuntime } from '../runtime/bounded-runtime.ts';
import type { ContainerRuntime } from '../runtime/container-runtime.ts';
import { RuntimeState } from '../runtime/runtime-state.ts';
import { filterOutInactivePods } from '../sync-loop/active-pods.ts';
import { handlePodCleanups, type PodCleanupsOptions } from '../sync-loop/pod-cleanups.ts';
import { PodDispatcher } from '../sync-loop/pod-dispatcher.ts';
import { SyncHandler } from '../sync-loop/sync-handler.ts';
import { AgentSyncLoop } from '../sync-loop/sync-loop.ts';
import { SyncLoopChannels } from '../sync-loop/sync-loop-channels.ts';
import { ShutdownAdmitHandler, userAdmitHandler } from './admit-handlers.ts';
import { type APIConnection, openAPIConnection } from './api-connection.ts';
import { NodeAgent } from './node-agent.ts';
import type { NodeEndpoints } from './node-agent-parts.ts';
import type { NodeAgentNode, NodeAgentOptions } from './node-agent-options.ts';
import { requireNodeAgentOptions } from './require-node-agent-options.ts';
import { StartUp } from './start-up.ts';

const defaultRuntimeRequestTimeoutMs = 120_000;

/**
 * Creates a complete node agent: it registers the Node, runs the pods that are bound to it and the
 * pods of `sources` with `runtime`, and keeps their statuses on the API server up to date. Call
 * `start()` of the agent, and finally `stop()`. If an agent has ended or crashed, another one with the
 * same runtime adopts the containers that are still running.
 *
 * Sets no timer and sends nothing before `start()`. Source: kubelet `NewMainKubelet`.
 *
 * @throws StatusManagerError INVALID_OPTION; `path` names the option. INVALID_ARGUMENT for an invalid
 *   kubeconfig.
 *
 * @example
 * ```ts
 * import { createNodeAgent } from 'kubelet-status-manager/agent';
 * import { inClusterConfig } from 'kubelet-status-manager/http';
 *
 * const agent = createNodeAgent({ nodeName: 'node-a', client: inClusterConfig(), runtime });
 * agent.start();
 * await agent.whenReady();
 * process.once('SIGTERM', () => void agent.stop({ drain: true }));
 * ```
 */
export function createNodeAgent(options: NodeAgentOptions): NodeAgent {
  requireNodeAgentOptions(options);
  const { nodeName, node = {}, sources = [] } = options;
  const logger = resolveLogger(options.logger);
  const clock = resolveClock(options.clock);
  const random = resolveRandom(options.random, logger);
  const agentStartedAtMs = clock.now();

  // The runtime, the API server, and the caches of both.
  const runtimeCalls = new AbortController();
  setMaxListeners(0, runtimeCalls.signal);
  const runtime = boundedRuntime(options.runtime, {
    clock,
    requestTimeoutMs: options.runtimeRequestTimeoutMs ?? defaultRuntimeRequestTimeoutMs,
    signal: runtimeCalls.signal,
  });
  const podCache = new RuntimePodCache(runtime, (podUID) => pleg.requestRelist(podUID));
  const connection = options.client === undefined ? undefined : openAPIConnection(options.client, { clock, logger });
  const informer =
    connection &&
    createInformerPodManager({ transport: connection.podClient.transport, nodeName, clock, random, logger });
  const podManager = createPodManager(informer);
  const mirrorPods = connection && createMirrorPods(connection, { nodeName, clock, logger });
  const ownEventRecorder =
    connection !== undefined && options.eventRecorder === undefined
      ? new APIEventRecorder({ client: createEventClient(connection.requests), nodeName, logger, clock, random })
      : undefined;
  const eventRecorder: EventRecorder =
    ownEventRecorder ?? guardedEventRecorder(options.eventRecorder ?? { event: () => {} }, logger);
  const allocationState = options.allocationState ?? new MemoryState();
  if (isSaved(options.allocationState) && !isSaved(options.actuatedState) && runtime.updateContainerResources)
    logger.warn(
      { node: nodeName },
      'allocationState is persistent but actuatedState is not: the next agent will not finish a resize in progress',
    );

  // The inputs of the sync loop.
  const hasAPISource = sources.some(({ name }) => name === apiSourceName);
  const podSources = connection === undefined || hasAPISource ? sources : [...sources, apiSource()];
  const sourcesReady = new SourcesReady(podSources.map(({ name }) => name));
  const channels = new SyncLoopChannels();
  const podConfig = new PodConfig({
    clock,
    logger,
    eventRecorder,
    onUpdate: (update) => channels.configUpdated(update),
  });
  const pleg = new GenericPLEG({
    runtime,
    cache: podCache,
    clock,
    logger,
    onEvent: (event) => channels.lifecycleEvent(event),
  });
  const runtimeState = new RuntimeState({
    runtime,
    clock,
    logger,
    healthErrors: () => {
      const reason = pleg.unhealthyReason();
      return reason === undefined ? [] : [`PLEG is not healthy: ${reason}`];
    },
  });

  // The workers are created before their syncer, because the status manager queries them.
  const podWorkers = new PodWorkers({
    podCache,
    requestRelist: (podUID) => {
      // A resize does not change a container state, so a relist alone would not cause a sync.
      pleg.requestReinspect(podUID);
      pleg.requestRelist(podUID);
    },
    clock,
    logger,
    eventRecorder,
    random,
  });
  const dispatcher = new PodDispatcher({ podManager, podWorkers });
  const statusManager = new StatusManager({
    ...options.statusManager,
    client: connection?.podClient,
    podManager,
    podDeletionSafety: podWorkers,
    clock,
    logger,
    random,
    metrics: options.metrics,
    journal: options.journal,
    allocationState,
    podStartupLatency: options.podStartupLatency,
    eventRecorder,
  });
  const getActivePods = (): ValidPod[] =>
    filterOutInactivePods(podManager.getPods(), { podWorkers, podStatusProvider: statusManager });
  const probeManager = new ProberManager({
    prober: options.prober ?? createProber({ runtime, recorder: eventRecorder, logger, clock }),
    getPodStatus: (podUID) => statusManager.getPodStatus(podUID),
    clock,
    random,
    agentStartedAtMs,
    onUpdate: (probeType, update) => channels.probeUpdated(probeType, update),
  });
  const nodeEndpoints: NodeEndpoints = {};
  const nodeReporter =
    connection && node !== false
      ? new NodeReporter({
          ...node,
          nodeName,
          transport: connection.requests,
          logger,
          clock,
          random,
          recorder: eventRecorder,
          nodeStatus: async () => {
            const { conditions = [], ...status } = await nodeStatusOf(nodeName, node, { ...nodeEndpoints, runtime });
            return { ...status, conditions: [...(evictionManager?.conditions() ?? []), ...conditions] };
          },
          readyErrors: () => [
            ...runtimeState.runtimeErrors(),
            ...runtimeState.networkErrors(),
            ...readyErrorsOf(node.readyErrors),
          ],
        })
      : undefined;
  const ownNode = new OwnNode({
    nodeName,
    node: node === false ? undefined : node,
    nodeStatus: () => nodeStatusOf(nodeName, node || {}, { ...nodeEndpoints, runtime }),
    nodeReporter,
    clock,
    logger,
  });
  const shutdownAdmission = new ShutdownAdmitHandler();
  const { canAdmitPod, allowedUnsafeSysctls = [] } = options;
  const safeSysctls = platform() === 'linux' ? safeSysctlAllowlist(release()) : [];
  const sysctlAllowlist = new SysctlAllowlist(safeSysctls, allowedUnsafeSysctls);
  const evictionManager = createEvictionManager({
    ...{ nodeName, runtime, podWorkers, getActivePods, eventRecorder, clock, logger },
    volumeManager: options.volumeManager,
    eviction: options.eviction,
    containerGC: () => containerGC,
    imageGC: () => imageGC,
    podEvicted: (signal) =>
      tryCall(
        () => options.metrics?.incEvictions?.(signal),
        (thrown) => logger.error({ reason: reasonOf(thrown), method: 'metrics.incEvictions' }, 'User callback threw'),
      ),
  });
  const allocationManager = new AllocationManager({
    runtime,
    statusManager,
    allocationState,
    clock,
    logger,
    eventRecorder,
    admitHandlers: [
      ...(evictionManager === undefined ? [] : [evictionManager]),
      sysctlAllowlist,
      new PredicateAdmitHandler({
        nodeName,
        getNode: () => ownNode.get(),
        criticalPodAdmission: new CriticalPodAdmission({ podWorkers, clock, logger, eventRecorder }),
      }),
      shutdownAdmission,
      ...(canAdmitPod === undefined ? [] : [userAdmitHandler(canAdmitPod)]),
    ],
    getActivePods,
    getPodByUID: (podUID) => podManager.getPodByUID(podUID),
    allSourcesReady: () => sourcesReady.allReady(),
    triggerPodSync: (pod) => {
      dispatcher.syncPods([pod]);
      pleg.requestRelist(pod.metadata.uid);
    },
  });
  const qosCgroups = new QOSCgroups({ runtime, getActivePods, clock, logger });
  const podSyncer = new AgentPodSyncer({
    runtime,
    qosCgroups,
    statusManager,
    probeManager,
    eventRecorder,
    clock,
    logger,
    agentStartedAtMs,
    handlerRunner: options.handlerRunner,
    actuatedState: options.actuatedState,
    networkErrors: () => runtimeState.networkErrors(),
    volumeManager: options.volumeManager,
    hostIPs: node === false ? undefined : node.addresses,
    requestPodSync: (podUID) => dispatcher.syncPod(podUID),
    reconcileMirrorPod: (staticPod, mirrorPod) => mirrorPods?.reconcile(staticPod, mirrorPod),
  });
  podWorkers.connect({ podSyncer, allocationManager });

  // The sync loop and its handlers.
  const containerGC = new ContainerGC({ runtime, clock, logger, podStateProvider: podStateProvider(podWorkers) });
  const imageGC = createImageGC(runtime, options, { nodeName, eventRecorder, clock, logger });
  const cleanUpContainers = (podUID: string, exitedContainerID?: string): void => {
    const runtimeStatus = podCache.get(podUID);
    if (runtimeStatus !== undefined) void containerGC.cleanUpContainersInPod(podUID, runtimeStatus, exitedContainerID);
  };
  const handler = new SyncHandler({
    podManager,
    podWorkers,
    dispatcher,
    getActivePods,
    statusManager,
    allocationManager,
    eventRecorder,
    logger,
    shouldSync: (pod) => podSyncer.activeDeadlineHandler.shouldSync(pod),
    areSourcesReady: () => sourcesReady.allReady(),
    onContainerDied: cleanUpContainers,
    onPodEvicted: cleanUpContainers,
  });
  const podCleanups: PodCleanupsOptions = {
    podManager,
    podWorkers,
    statusManager,
    runtime,
    probeManager,
    mirrorPods,
    logger,
    allocationManager,
    podSyncer,
    volumeManager: options.volumeManager,
  };
  const startUp = new StartUp({ sourcesReady, statusManager, podManager, logger });
  const syncLoop = new AgentSyncLoop({
    handler,
    channels,
    sourcesReady,
    runtimeErrors: () => runtimeState.runtimeErrors(),
    clock,
    logger,
    onFirstUpdate: (update) => startUp.firstUpdate(update),
    prepareAdditions: (pods, signal) => ownNode.prepareAdmission(pods, signal),
    handlePodCleanups: (signal) => handlePodCleanups(podCleanups, signal),
  });

  return new NodeAgent({
    nodeName,
    clock,
    logger,
    metrics: options.metrics,
    connection,
    informer,
    mirrorPods,
    nodeReporter,
    ownNode,
    nodeEndpoints,
    ownEventRecorder,
    eventRecorder,
    statusManager,
    podManager,
    allocationManager,
    podWorkers,
    podConfig,
    podSources,
    podSourceContext: podSourceContext({ nodeName, clock, logger, apiPods: informer }),
    sourcesReady,
    startUp,
    shutdownAdmission,
    pleg,
    runtimeState,
    qosCgroups,
    containerGC,
    imageGC,
    evictionManager,
    probeManager,
    getActivePods,
    syncLoop,
    abortRuntimeCalls: () => runtimeCalls.abort(new Error('The agent is being stopped')),
  });
}

/** Undefined if it is switched off, or if the runtime has no images. */
function createImageGC(
  runtime: ContainerRuntime,
  { imageGC: policy = {} }: NodeAgentOptions,
  parts: Pick<ImageGCManagerOptions, 'clock' | 'eventRecorder' | 'logger' | 'nodeName'>,
): ImageGCManager | undefined {
  if (policy === false || policy.highThresholdPercent === 100 || !hasImages(runtime)) return undefined;
  return new ImageGCManager({ ...parts, policy, runtime });
}

function hasImages(runtime: ContainerRuntime): runtime is ContainerRuntime & ImageGCManagerOptions['runtime'] {
  return (['listImages', 'removeImage', 'imageFsStats'] as const).every((method) => runtime[method] !== undefined);
}

function isSaved(state: AllocationState | undefined): boolean {
  return state !== undefined && !(state instanceof MemoryState);
}

/** Logs errors that the caller's recorder throws. */
function guardedEventRecorder(eventRecorder: EventRecorder, logger: Logger): EventRecorder {
  return {
    event(event) {
      try {
        eventRecorder.event(event);
      } catch (thrown) {
        logger.error({ reason: reasonOf(thrown), method: 'eventRecorder.event' }, 'User callback threw');
      }
    },
  };
}

/** A pod manager that the sync loop fills. With an informer, it also reports the informer's state for metrics and `inspect()`. */
function createPodManager(informer: InformerPodManager | undefined): BasicPodManager {
  const podManager = new BasicPodManager();
  return informer ? Object.assign(podManager, { informerState: () => informer.informerState() }) : podManager;
}

function createMirrorPods(
  { requests }: APIConnection,
  { nodeName, clock, logger }: Readonly<{ nodeName: string; clock: Clock; logger: Logger }>,
): MirrorPods {
  const nodePath = `/api/v1/nodes/${encodeURIComponent(nodeName)}`;
  const getNode = async (signal: AbortSignal): Promise<MirrorNode> =>
    (await requests.request('GET', nodePath, { signal })).json() as MirrorNode;
  const client = new MirrorPodClient({ api: createMirrorPodAPI(requests), nodeName, getNode, logger });
  return new MirrorPods({ client, clock, logger });
}

function podStateProvider(podWorkers: PodWorkers): ContainerGCOptions['podStateProvider'] {
  return {
    // Divergence: only after the pod is terminated. The kubelet removes the containers of an evicted pod
    // as soon as they have exited, so its worker may not see how they ended.
    shouldPodContentBeRemoved: (podUID) =>
      podWorkers.shouldPodContentBeRemoved(podUID) &&
      (podWorkers.isPodKnownTerminated(podUID) || !podWorkers.isPodTerminationRequested(podUID)),
  };
}

async function nodeStatusOf(
  nodeName: string,
  { addresses, nodeStatus }: NodeAgentNode,
  { kubeletPort, features: apiFeatures = [], runtime }: NodeEndpoints & { readonly runtime: ContainerRuntime },
): Promise<NodeStatus> {
  const canResizePods = runtime.updateContainerResources !== undefined && runtime.updatePodResources !== undefined;
  const features = [...apiFeatures, ...(canResizePods ? ['InPlacePodLevelResourcesVerticalScaling'] : [])];
  const own = addresses && [
    ...addresses.map((address) => ({ type: 'InternalIP', address })),
    { type: 'Hostname', address: nodeName },
  ];
  const daemonEndpoints = kubeletPort !== undefined && { kubeletEndpoint: { Port: kubeletPort } };
  const status = await nodeStatus?.();
  return {
    ...(own && { addresses: own }),
    ...(daemonEndpoints && { daemonEndpoints }),
    ...status,
    ...(features.length > 0 && { declaredFeatures: [...(status?.declaredFeatures ?? []), ...features] }),
  };
}
