import { platform, release } from 'node:os';
import { AppArmorAdmitHandler } from '../admission/app-armor.ts';
import { CriticalPodAdmission } from '../admission/critical-pod-admission.ts';
import { PodFeaturesAdmitHandler } from '../admission/pod-features.ts';
import { PredicateAdmitHandler } from '../admission/predicate-admit-handler.ts';
import { safeSysctlAllowlist, SysctlAllowlist } from '../admission/sysctl-allowlist.ts';
import { AllocationManager } from '../allocation/allocation-manager.ts';
import { OrphanedPodDirs } from '../sync-loop/orphaned-pod-dirs.ts';
import { handlePodCleanups, type PodCleanupsOptions } from '../sync-loop/pod-cleanups.ts';
import { SyncHandler } from '../sync-loop/sync-handler.ts';
import { AgentSyncLoop } from '../sync-loop/sync-loop.ts';
import { ShutdownAdmitHandler, userAdmitHandler } from './admit-handlers.ts';
import type { NodeAgentOptions } from './node-agent-options.ts';
import type { NodeAgentParts } from './node-agent-parts.ts';
import { StartUp } from './start-up.ts';

/** What admits pods, and brings the inputs to the workers. */
export type AgentLoop = ReturnType<typeof createLoop>;

export function createLoop(options: NodeAgentOptions, parts: NodeAgentParts) {
  const { nodeName, clock, logger, recordMetric } = parts.context;
  const { mirrorPods, eventRecorder } = parts.connection;
  const { runtime, volumeManager, stopSignal } = parts.ports;
  const { podCache, pleg, runtimeState, channels, sourcesReady } = parts.inputs;
  const { podManager, podWorkers, dispatcher, statusManager, getActivePods } = parts.workers;
  const { allocationState, probeManager, podSyncer } = parts.workers;
  const { containerGC, evictionManager, ownNode } = parts.node;
  const { canAdmitPod, allowedUnsafeSysctls = [] } = options;

  const shutdownAdmission = new ShutdownAdmitHandler();
  const safeSysctls = platform() === 'linux' ? safeSysctlAllowlist(release()) : [];
  const allocationManager = new AllocationManager({
    ...{ runtime, statusManager, allocationState, getActivePods, clock, logger, eventRecorder },
    admitHandlers: [
      ...(evictionManager === undefined ? [] : [evictionManager]),
      new SysctlAllowlist(safeSysctls, allowedUnsafeSysctls),
      new PredicateAdmitHandler({
        nodeName,
        getNode: () => ownNode.get(),
        criticalPodAdmission: new CriticalPodAdmission({
          podWorkers,
          stopSignal,
          clock,
          logger,
          eventRecorder,
          recordMetric,
        }),
      }),
      ...(platform() === 'linux' ? [new AppArmorAdmitHandler()] : []),
      new PodFeaturesAdmitHandler(),
      shutdownAdmission,
      ...(canAdmitPod === undefined ? [] : [userAdmitHandler(canAdmitPod)]),
    ],
    getPodByUID: (podUID) => podManager.getPodByUID(podUID),
    allSourcesReady: () => sourcesReady.allReady(),
    triggerPodSync: (pod) => {
      dispatcher.syncPods([pod]);
      pleg.requestRelist(pod.metadata.uid);
    },
  });

  const cleanUpContainers = (podUID: string, exitedContainerID?: string): void => {
    const runtimeStatus = podCache.get(podUID);
    if (runtimeStatus !== undefined) void containerGC.cleanUpContainersInPod(podUID, runtimeStatus, exitedContainerID);
  };
  const handler = new SyncHandler({
    ...{ podManager, podWorkers, dispatcher, getActivePods, statusManager, allocationManager },
    ...{ eventRecorder, logger, recordMetric },
    shouldSync: (pod) => podSyncer.activeDeadlineHandler.shouldSync(pod),
    areSourcesReady: () => sourcesReady.allReady(),
    onContainerDied: cleanUpContainers,
    onPodEvicted: cleanUpContainers,
  });
  const orphanedPodDirs = new OrphanedPodDirs({ volumeManager, clock, logger });
  const podCleanups: PodCleanupsOptions = {
    ...{ podManager, podWorkers, statusManager, probeManager, mirrorPods, recordMetric, logger },
    ...{ allocationManager, podSyncer, orphanedPodDirs },
    listPods: (signal) => runtime.listPods({ signal }),
  };
  const startUp = new StartUp(parts);
  const syncLoop = new AgentSyncLoop({
    ...{ handler, channels, sourcesReady, clock, logger },
    runtimeErrors: () => runtimeState.runtimeErrors(),
    onFirstUpdate: (update) => startUp.firstUpdate(update),
    prepareAdditions: (pods, signal) => ownNode.prepareAdmission(pods, signal),
    handlePodCleanups: (signal) => handlePodCleanups(podCleanups, signal),
  });
  return { shutdownAdmission, allocationManager, startUp, syncLoop, orphanedPodDirs };
}
