import { BasicPodManager } from '../../kube/pod-manager/basic-pod-manager.ts';
import type { InformerPodManager } from '../../kube/informer/informer-pod-manager.ts';
import { withInformer } from '../../kube/informer/with-informer.ts';
import type { ValidPod } from '../../kube/objects/types.ts';
import type { RecordKubeletMetric } from '../../observe/kubelet-metrics.ts';
import type { AllocationState } from '../../status-manager/allocation/allocation-state.ts';
import type { StatusManagerOptions } from '../../status-manager/options.ts';
import { StatusManager } from '../../status-manager/status-manager.ts';
import { CriticalPodAdmission } from '../admission/critical-pod-admission.ts';
import type { OwnNode } from '../admission/own-node.ts';
import { PredicateAdmitHandler } from '../admission/predicate-admit-handler.ts';
import { AllocationManager, type AllocationManagerOptions } from '../allocation/allocation-manager.ts';
import type { PodAdmitHandler } from '../allocation/pod-admit-handler.ts';
import { podSourceContext } from '../config/decode-manifest.ts';
import { PodConfig } from '../config/pod-config.ts';
import type { PodSource } from '../config/pod-source.ts';
import { SourcesReady } from '../config/sources-ready.ts';
import type { EventRecorder } from '../events/event-recorder.ts';
import type { NodeContext } from '../node-context.ts';
import { PodSyncStatuses } from '../pod-workers/pod-sync-statuses.ts';
import type { PodCache, PodLifecycleSyncer } from '../pod-workers/pod-lifecycle-syncer.ts';
import { PodWorkers } from '../pod-workers/pod-workers.ts';
import { filterOutInactivePods } from '../sync-loop/active-pods.ts';
import { handlePodCleanups, type PodCleanupsOptions } from '../sync-loop/pod-cleanups.ts';
import { PodDispatcher } from '../sync-loop/pod-dispatcher.ts';
import { SyncHandler, type SyncHandlerOptions } from '../sync-loop/sync-handler.ts';
import { SyncLoopChannels } from '../sync-loop/sync-loop-channels.ts';
import { KubeletSyncLoop, type KubeletSyncLoopOptions } from '../sync-loop/kubelet-sync-loop.ts';

/**
 * What every node does with pods, from its sources to their statuses, in four steps: inputs, statuses, workers, loop. Each
 * step gets what the earlier ones have created. Between the steps, an agent and a virtual node create the parts that differ:
 * the cache of running pods, the syncer of the workers, and the admit handlers.
 */
export interface PodPipelineContext extends NodeContext {
  readonly nodeName: string;
  readonly eventRecorder: EventRecorder;
}

/** The pods that the node should run, from all sources. */
export type PodInputs = ReturnType<typeof createPodInputs>;

/** @param informer undefined without an API server */
export function createPodInputs(
  { nodeName, clock, logger, eventRecorder }: PodPipelineContext,
  informer: InformerPodManager | undefined,
  podSources: readonly PodSource[],
) {
  const channels = new SyncLoopChannels();
  const podManager = new BasicPodManager();
  return {
    ...{ channels, podSources },
    sourcesReady: new SourcesReady(podSources.map(({ name }) => name)),
    podConfig: new PodConfig({
      ...{ clock, logger, eventRecorder },
      onUpdate: (update) => channels.configUpdated(update),
    }),
    // With an informer, it also has the informer's state, and knows which pods are gone.
    podManager: informer ? withInformer(podManager, informer) : podManager,
    podSourceContext: podSourceContext({ nodeName, clock, logger, apiPods: informer }),
  };
}

/** What the node knows about its pods: their lifecycle states, and the statuses that are reported. */
export type PodStatuses = ReturnType<typeof createPodStatuses>;

export function createPodStatuses(
  { clock, logger, random, eventRecorder }: PodPipelineContext,
  { channels, podManager }: Pick<PodInputs, 'channels' | 'podManager'>,
  podCache: PodCache,
  options: Omit<StatusManagerOptions, 'podDeletionSafety' | 'podManager'> & {
    readonly allocationState: AllocationState;
  },
) {
  const onSyncDue = (dueMs: number): void => channels.syncDue(dueMs);
  const statuses = new PodSyncStatuses({ podCache, clock, logger, onSyncDue });
  const statusManager = new StatusManager({
    ...options,
    ...{ podManager, podDeletionSafety: statuses, clock, logger, random, eventRecorder },
  });
  const getActivePods = (): ValidPod[] =>
    filterOutInactivePods(podManager.getPods(), { statuses, podStatusProvider: statusManager });
  const { allocationState } = options;
  return { podManager, statuses, statusManager, getActivePods, allocationState };
}

/** A syncer of the workers, and what the loop asks it for. */
export interface PodPipelineSyncer extends PodLifecycleSyncer {
  readonly activeDeadlineHandler: { shouldSync(pod: ValidPod): boolean };
  removeOrphanedPods(desired: ReadonlySet<string>): void;
}

/** What is known about the pods, and what runs them. */
export type PodRunners = ReturnType<typeof createPodWorkers>;

/** @param requestRelist called when a pod has changed, so that it is observed soon */
export function createPodWorkers(
  { clock, logger, random, recordMetric, eventRecorder }: PodPipelineContext,
  podStatuses: PodStatuses,
  podCache: PodCache,
  podSyncer: PodPipelineSyncer,
  requestRelist: (podUID: string) => void,
) {
  const { statuses, podManager, allocationState } = podStatuses;
  const podWorkers = new PodWorkers({
    ...{ statuses, podSyncer, podCache, allocationState, clock, logger, eventRecorder, random, recordMetric },
    requestRelist,
  });
  return { ...podStatuses, podWorkers, podSyncer, dispatcher: new PodDispatcher({ podManager, podWorkers }) };
}

export interface PodLoopOptions
  extends
    Pick<SyncHandlerOptions, 'onContainerDied' | 'onPodEvicted'>,
    Pick<KubeletSyncLoopOptions, 'onFirstUpdate' | 'quietHousekeepingPeriodMs' | 'runtimeErrors'>,
    Pick<PodCleanupsOptions, 'listPods' | 'mirrorPods' | 'orphanedPodDirs'> {
  readonly ownNode: OwnNode;
  /** Called before and after the checks that every node has. */
  readonly admitHandlers: { readonly before?: readonly PodAdmitHandler[]; readonly after: readonly PodAdmitHandler[] };
  /** How pods can be resized. */
  readonly runtime: AllocationManagerOptions['runtime'];
  /** Aborted when preemptions are no longer awaited. */
  readonly stopSignal: AbortSignal;
  /** Called when a resize of the pod was admitted. */
  readonly onPodResized?: ((podUID: string) => void) | undefined;
  /** Called at the end of each housekeeping. */
  readonly afterCleanups?: ((signal: AbortSignal) => void) | undefined;
  /** False while the running pods are unknown; nothing is then cleaned up. Default: always true. */
  readonly canCleanUp?: (() => boolean) | undefined;
  /** Receives the numbers of pods. Default: nothing is measured. */
  readonly recordPodCounts?: RecordKubeletMetric | undefined;
}

/** What admits pods, and brings the inputs to the workers. */
export function createPodLoop(
  { nodeName, clock, logger, recordMetric, eventRecorder }: PodPipelineContext,
  { channels, sourcesReady }: PodInputs,
  workers: PodRunners,
  options: PodLoopOptions,
) {
  const { podManager, statusManager, getActivePods, allocationState, podWorkers, podSyncer, dispatcher } = workers;
  const { ownNode, runtime, stopSignal, admitHandlers, onPodResized, afterCleanups, canCleanUp } = options;
  const { listPods, mirrorPods, orphanedPodDirs, recordPodCounts } = options;
  const criticalPodAdmission = new CriticalPodAdmission({
    ...{ podWorkers, stopSignal, clock, logger, eventRecorder, recordMetric },
  });
  const allocationManager = new AllocationManager({
    ...{ runtime, statusManager, allocationState, getActivePods, clock, logger, eventRecorder },
    admitHandlers: [
      ...(admitHandlers.before ?? []),
      new PredicateAdmitHandler({ nodeName, getNode: () => ownNode.get(), criticalPodAdmission }),
      ...admitHandlers.after,
    ],
    getPodByUID: (podUID) => podManager.getPodByUID(podUID),
    allSourcesReady: () => sourcesReady.allReady(),
    triggerPodSync: (pod) => {
      dispatcher.syncPods([pod]);
      onPodResized?.(pod.metadata.uid);
    },
  });
  const handler = new SyncHandler({
    ...{ podManager, podWorkers, dispatcher, getActivePods, statusManager, allocationManager },
    ...{ eventRecorder, logger, recordMetric },
    shouldSync: (pod) => podSyncer.activeDeadlineHandler.shouldSync(pod),
    areSourcesReady: () => sourcesReady.allReady(),
    onContainerDied: options.onContainerDied,
    onPodEvicted: options.onPodEvicted,
  });
  const cleanups = {
    ...{ podManager, podWorkers, dispatcher, statusManager, allocationManager, podSyncer, logger },
    ...{ listPods, mirrorPods, orphanedPodDirs, recordMetric: recordPodCounts },
  };
  const syncLoop = new KubeletSyncLoop({
    ...{ handler, channels, sourcesReady, clock, logger },
    ...{ quietHousekeepingPeriodMs: options.quietHousekeepingPeriodMs, runtimeErrors: options.runtimeErrors },
    onFirstUpdate: options.onFirstUpdate,
    prepareAdditions: (pods, signal) => ownNode.prepareAdmission(pods, signal),
    handlePodCleanups: async (signal) => {
      if (canCleanUp?.() === false) return;
      await handlePodCleanups(cleanups, signal);
      afterCleanups?.(signal);
    },
  });
  return { allocationManager, syncLoop };
}
