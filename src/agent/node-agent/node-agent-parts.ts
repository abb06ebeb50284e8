import type { BasicPodManager } from '../../kube/basic-pod-manager.ts';
import type { Clock } from '../../shared/clock.ts';
import type { Logger } from '../../shared/logger.ts';
import type { ValidPod } from '../../kube/types.ts';
import type { InformerPodManager } from '../../kube/informer/informer-pod-manager.ts';
import type { AllocationManager } from '../allocation/allocation-manager.ts';
import type { ContainerGC } from '../container-gc/container-gc.ts';
import type { PodConfig } from '../config/pod-config.ts';
import type { PodSource, PodSourceContext } from '../config/pod-source.ts';
import type { SourcesReady } from '../config/sources-ready.ts';
import type { APIEventRecorder } from '../events/api-event-recorder.ts';
import type { EventRecorder } from '../events/event-recorder.ts';
import type { EvictionManager } from '../eviction/eviction-manager.ts';
import type { AgentMetrics } from '../../observe/agent-metrics.ts';
import type { ImageGCManager } from '../image-gc/image-gc-manager.ts';
import type { MirrorPods } from '../mirror/mirror-pods.ts';
import type { NodeReporter } from '../node/node-reporter.ts';
import type { OwnNode } from '../node/own-node.ts';
import type { GenericPLEG } from '../pleg/generic-pleg.ts';
import type { RuntimeState } from '../runtime/runtime-state.ts';
import type { PodWorkers } from '../pod-workers/pod-workers.ts';
import type { QOSCgroups } from '../pod-workers/qos-cgroups.ts';
import type { ProberManager } from '../prober/prober-manager.ts';
import type { AgentSyncLoop } from '../sync-loop/sync-loop.ts';
import type { APIConnection } from './api-connection.ts';
import type { AgentStatusManager } from './node-agent-options.ts';
import type { ShutdownAdmitHandler } from './admit-handlers.ts';
import type { StartUp } from './start-up.ts';

/** The ports of the node. */
export interface NodeEndpoints {
  /** Undefined if the agent does not serve the kubelet's API. */
  kubeletPort?: number | undefined;
  /** Of the kubelet's API. */
  features?: readonly string[] | undefined;
}

/** The components that `createNodeAgent` has created, which the agent starts and stops. */
export interface NodeAgentParts {
  readonly nodeName: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Errors that it throws are logged. */
  readonly metrics: Partial<AgentMetrics> | undefined;
  /** Undefined without a client, like the next three members. */
  readonly connection: APIConnection | undefined;
  readonly informer: InformerPodManager | undefined;
  readonly mirrorPods: MirrorPods | undefined;
  readonly nodeReporter: NodeReporter | undefined;
  readonly ownNode: OwnNode;
  /** Endpoints in the next status of the Node. */
  readonly nodeEndpoints: NodeEndpoints;
  /** Also undefined if the caller passed an event recorder. */
  readonly ownEventRecorder: APIEventRecorder | undefined;
  readonly eventRecorder: EventRecorder;
  readonly statusManager: AgentStatusManager;
  readonly podManager: BasicPodManager;
  readonly allocationManager: AllocationManager;
  readonly podWorkers: PodWorkers;
  readonly podConfig: PodConfig;
  readonly podSources: readonly PodSource[];
  readonly podSourceContext: PodSourceContext;
  readonly pleg: GenericPLEG;
  readonly runtimeState: RuntimeState;
  readonly qosCgroups: QOSCgroups;
  readonly containerGC: ContainerGC;
  /** Undefined if images are not garbage-collected. */
  readonly imageGC: ImageGCManager | undefined;
  /** Undefined if nothing is measured. */
  readonly evictionManager: EvictionManager | undefined;
  readonly probeManager: ProberManager;
  readonly getActivePods: () => readonly ValidPod[];
  readonly syncLoop: AgentSyncLoop;
  readonly sourcesReady: SourcesReady;
  readonly startUp: StartUp;
  readonly shutdownAdmission: ShutdownAdmitHandler;
  /** Aborts the runtime calls in progress, and rejects new ones. */
  readonly abortRuntimeCalls: () => void;
}
