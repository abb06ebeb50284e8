import { MemoryState } from '../../status-manager/allocation/memory-state.ts';
import { ImagePullManager } from '../image-pulls/image-pull-manager.ts';
import { parallelImagePulls } from '../image-pulls/image-pull-options.ts';
import { imagePullCredentialsVerification } from '../image-pulls/verification-policy.ts';
import { type BoundedRuntime, createPodStatuses, createPodWorkers, ProberManager } from '../../node/index.ts';
import { AgentPodSyncer } from '../pod-syncer/agent-pod-syncer.ts';
import { ImageManager } from '../pod-syncer/image-manager.ts';
import { QOSCgroups } from '../pod-syncer/qos-cgroups.ts';
import type { AgentContext } from './agent-context.ts';
import type { AgentConnection } from './create-connection.ts';
import type { AgentInputs } from './create-inputs.ts';
import type { AgentPorts } from './create-ports.ts';
import type { NodeAgentOptions } from './node-agent-options.ts';

/** What is known about each pod of the agent, and the parts that run it. */
export type AgentWorkers = ReturnType<typeof createWorkers>;

export function createWorkers(
  options: NodeAgentOptions,
  context: AgentContext,
  connection: AgentConnection,
  ports: AgentPorts,
  inputs: AgentInputs,
) {
  const { clock, logger, random, recordMetric, agentStartedMs } = context;
  const { api, mirrorPods, eventRecorder } = connection;
  const { runtime, volumeManager, prober, handlerRunner } = ports;
  const { podCache, pleg, runtimeState, channels } = inputs;
  const { allocationState = new MemoryState(), actuatedState, node = {} } = options;

  const podContext = { ...context, eventRecorder };
  const podStatuses = createPodStatuses(podContext, inputs, podCache, {
    ...options.statusManager,
    allocationState,
    client: api?.podClient,
    metrics: options.metrics,
    journal: options.journal,
    podStartupLatency: options.podStartupLatency,
  });
  const { statusManager, getActivePods } = podStatuses;

  const probeManager = new ProberManager({
    ...{ prober, clock, random, recordMetric, agentStartedMs },
    getPodStatus: (podUID) => statusManager.getPodStatus(podUID),
    onUpdate: (probeType, update) => channels.probeUpdated(probeType, update),
  });
  const qosCgroups = new QOSCgroups({ runtime, getActivePods, clock, logger });
  const imagePullManager = createImagePullManager(options, runtime, context);
  const imageManager = new ImageManager({
    ...{ runtime, pullManager: imagePullManager, clock, eventRecorder, recordMetric },
    parallelImagePulls: parallelImagePulls(options.imagePulls ?? {}),
  });
  const podSyncer = new AgentPodSyncer({
    ...{ runtime, imageManager, qosCgroups, statusManager, probeManager, eventRecorder, recordMetric, agentStartedMs },
    ...{ clock, logger, actuatedState, volumeManager, handlerRunner },
    hostIPs: node === false ? undefined : node.addresses,
    networkErrors: () => runtimeState.networkErrors(),
    reconcileMirrorPod: (staticPod, mirrorPod) => mirrorPods?.reconcile(staticPod, mirrorPod),
  });
  const workers = createPodWorkers(podContext, podStatuses, podCache, podSyncer, (podUID) => {
    // A resize does not change a container state, so a relist alone would not cause a sync.
    pleg.requestReinspect(podUID);
    pleg.requestRelist(podUID);
  });
  return { ...workers, probeManager, qosCgroups, imagePullManager };
}

function createImagePullManager(
  { imagePulls = {}, imagePullRecordsDirectory: rootDirectory }: NodeAgentOptions,
  runtime: BoundedRuntime,
  { clock, logger, machine }: AgentContext,
): ImagePullManager {
  const { imagePullCredentialsVerificationPolicy: policy, preloadedImagesVerificationAllowlist: allowlist } =
    imagePulls;
  return new ImagePullManager({
    ...{ runtime, clock, logger, rootDirectory },
    disk: machine.disk,
    requireCredentialVerification: imagePullCredentialsVerification(policy, allowlist),
  });
}
