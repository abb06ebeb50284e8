import { platform, release } from 'node:os';
import { AppArmorAdmitHandler, createPodLoop, ShutdownAdmitHandler, userAdmitHandler } from '../../node/index.ts';
import { PodFeaturesAdmitHandler } from '../admission/pod-features.ts';
import { safeSysctlAllowlist, SysctlAllowlist } from '../admission/sysctl-allowlist.ts';
import { OrphanedPodDirs } from '../volumes/orphaned-pod-dirs.ts';
import type { NodeAgentOptions } from './node-agent-options.ts';
import type { NodeAgentParts } from './node-agent-parts.ts';
import { StartUp } from './start-up.ts';

/** What admits pods, and brings the inputs to the workers. */
export type AgentLoop = ReturnType<typeof createLoop>;

export function createLoop(options: NodeAgentOptions, parts: NodeAgentParts) {
  const { context, inputs, workers } = parts;
  const { clock, logger, recordMetric } = context;
  const { mirrorPods, eventRecorder } = parts.connection;
  const { runtime, volumeManager, stopSignal } = parts.ports;
  const { podCache, pleg, runtimeState } = inputs;
  const { containerGC, evictionManager, ownNode } = parts.node;
  const { canAdmitPod, allowedUnsafeSysctls = [] } = options;

  const shutdownAdmission = new ShutdownAdmitHandler();
  const isLinux = platform() === 'linux';
  const safeSysctls = isLinux ? safeSysctlAllowlist(release()) : [];
  const cleanUpContainers = (podUID: string, exitedContainerID?: string): void => {
    const runtimeStatus = podCache.get(podUID);
    if (runtimeStatus !== undefined) void containerGC.cleanUpContainersInPod(podUID, runtimeStatus, exitedContainerID);
  };
  const orphanedPodDirs = new OrphanedPodDirs({ volumeManager, clock, logger });
  const startUp = new StartUp(parts);
  const { allocationManager, syncLoop } = createPodLoop({ ...context, eventRecorder }, inputs, workers, {
    ...{ ownNode, runtime, stopSignal, mirrorPods, orphanedPodDirs },
    admitHandlers: {
      before: [...(evictionManager ? [evictionManager] : []), new SysctlAllowlist(safeSysctls, allowedUnsafeSysctls)],
      after: [
        ...(isLinux ? [new AppArmorAdmitHandler()] : []),
        new PodFeaturesAdmitHandler(),
        shutdownAdmission,
        ...(canAdmitPod === undefined ? [] : [userAdmitHandler(canAdmitPod)]),
      ],
    },
    onPodResized: (podUID) => pleg.requestRelist(podUID),
    onContainerDied: cleanUpContainers,
    onPodEvicted: cleanUpContainers,
    runtimeErrors: () => runtimeState.runtimeErrors(),
    onFirstUpdate: (update) => startUp.firstUpdate(update),
    listPods: (signal) => runtime.listPods({ signal }),
    recordPodCounts: recordMetric,
  });
  return { shutdownAdmission, allocationManager, startUp, syncLoop, orphanedPodDirs };
}
