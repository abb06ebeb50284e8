import { BasicPodManager } from '../../kube/basic-pod-manager.ts';
import type { InformerPodManager } from '../../kube/informer/informer-pod-manager.ts';
import { withInformer } from '../../kube/informer/with-informer.ts';
import type { ValidPod } from '../../kube/types.ts';
import { MemoryState } from '../../status-manager/allocation/memory-state.ts';
import { StatusManager } from '../../status-manager/status-manager.ts';
import { ImagePullManager } from '../image-pulls/image-pull-manager.ts';
import { parallelImagePulls } from '../image-pulls/image-pull-options.ts';
import { imagePullCredentialsVerification } from '../image-pulls/verification-policy.ts';
import { AgentPodSyncer } from '../pod-workers/agent-pod-syncer.ts';
import { ImageManager } from '../pod-workers/image-manager.ts';
import { PodWorkers } from '../pod-workers/pod-workers.ts';
import { QOSCgroups } from '../pod-workers/qos-cgroups.ts';
import { ProberManager } from '../prober/prober-manager.ts';
import type { BoundedRuntime } from '../runtime/bounded-runtime.ts';
import { filterOutInactivePods } from '../sync-loop/active-pods.ts';
import { PodDispatcher } from '../sync-loop/pod-dispatcher.ts';
import type { AgentContext } from './agent-context.ts';
import type { AgentConnection } from './create-connection.ts';
import type { AgentInputs } from './create-inputs.ts';
import type { AgentPorts } from './create-ports.ts';
import type { NodeAgentOptions } from './node-agent-options.ts';

/** What is known of each pod of the agent, and what runs it. */
export type AgentWorkers = ReturnType<typeof createWorkers>;

export function createWorkers(
  options: NodeAgentOptions,
  context: AgentContext,
  connection: AgentConnection,
  ports: AgentPorts,
  inputs: AgentInputs,
) {
  const { clock, logger, random, recordMetric, agentStartedMs } = context;
  const { api, informer, mirrorPods, eventRecorder } = connection;
  const { runtime, volumeManager, prober, handlerRunner } = ports;
  const { podCache, pleg, runtimeState, channels } = inputs;
  const { allocationState = new MemoryState(), actuatedState, node = {} } = options;

  const podManager = createPodManager(informer);
  // The workers are created before their syncer, because the status manager asks them.
  const podWorkers = new PodWorkers({
    ...{ podCache, allocationState, clock, logger, eventRecorder, random, recordMetric },
    requestRelist: (podUID) => {
      // A resize does not change a container state, so a relist alone would not cause a sync.
      pleg.requestReinspect(podUID);
      pleg.requestRelist(podUID);
    },
  });
  const dispatcher = new PodDispatcher({ podManager, podWorkers });
  const statusManager = new StatusManager({
    ...options.statusManager,
    ...{ podManager, podDeletionSafety: podWorkers, allocationState, clock, logger, random, eventRecorder },
    client: api?.podClient,
    metrics: options.metrics,
    journal: options.journal,
    podStartupLatency: options.podStartupLatency,
  });
  const getActivePods = (): ValidPod[] =>
    filterOutInactivePods(podManager.getPods(), { podWorkers, podStatusProvider: statusManager });

  const probeManager = new ProberManager({
    ...{ prober, clock, random, agentStartedMs },
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
    ...{
      runtime,
      imageManager,
      qosCgroups,
      statusManager,
      probeManager,
      eventRecorder,
      recordMetric,
      clock,
      logger,
      agentStartedMs,
    },
    ...{ actuatedState, volumeManager, handlerRunner },
    hostIPs: node === false ? undefined : node.addresses,
    networkErrors: () => runtimeState.networkErrors(),
    requestPodSync: (podUID) => dispatcher.syncPod(podUID),
    reconcileMirrorPod: (staticPod, mirrorPod) => mirrorPods?.reconcile(staticPod, mirrorPod),
  });
  podWorkers.connect(podSyncer);
  return {
    ...{ podManager, podWorkers, dispatcher, statusManager, getActivePods },
    ...{ allocationState, probeManager, qosCgroups, podSyncer, imagePullManager },
  };
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

/** A pod manager that the sync loop fills. With an informer, it also has the informer's state, and knows which pods are gone. */
function createPodManager(informer: InformerPodManager | undefined): BasicPodManager {
  const podManager = new BasicPodManager();
  return informer ? withInformer(podManager, informer) : podManager;
}
