import type { HTTPPodClient } from '../../kube/http/http-pod-client.ts';
import type { KubeConfigSource } from '../../kube/http/kube-config-types.ts';
import type { AgentMetrics } from '../../observe/agent-metrics.ts';
import type { Metrics } from '../../status-manager/metrics.ts';
import type { AllocationState } from '../../status-manager/allocation/allocation-state.ts';
import type { ClockLike } from '../../shared/clock.ts';
import type { Journal } from '../../status-manager/journal/journal.ts';
import type { Logger } from '../../shared/logger.ts';
import type { PodStartupLatency } from '../../status-manager/sync/sync-ports.ts';
import type {
  ContainerRuntime,
  EventRecorder,
  NodeAgentNode,
  NodeStatusManagerOptions,
  NodeStopOptions,
  PodAdmitAttributes,
  PodAdmitResult,
  PodSource,
  Prober,
} from '../../node/index.ts';
import type { ImageGCPolicy } from '../image-gc/image-gc-manager.ts';
import type { ImagePullOptions } from '../image-pulls/image-pull-options.ts';
import type { EvictionOptions } from '../eviction/create-eviction-manager.ts';
import type { VolumeManager } from '../volumes/volume-manager.ts';
import type { HandlerRunner } from '../pod-syncer/handler-runner.ts';

/** What an agent keeps for the next one; `openAgentState` opens all of it. State without an option is in memory. */
export interface AgentState {
  /** Unsent statuses; see `StatusManagerOptions`. Default: none. */
  readonly journal?: Journal | undefined;
  /** The allocated resources of pods: an `openCheckpointState`. Default: in memory; the next agent starts from the status of each pod. */
  readonly allocationState?: AllocationState | undefined;
  /**
   * The resources that the containers were last given: an `openCheckpointState` with another directory. Default: in memory;
   * the next agent starts from the status of each pod.
   */
  readonly actuatedState?: AllocationState | undefined;
  /**
   * The records of pulled images are in its folder `image_manager`, as those of a kubelet. Default: they are in memory; then
   * images that an earlier agent has pulled count as preloaded.
   */
  readonly imagePullRecordsDirectory?: string | undefined;
}

/** Options of `createNodeAgent`. */
export interface NodeAgentOptions extends AgentState {
  /** Name of the Node, in lower case. */
  readonly nodeName: string;
  /**
   * The API server: a `KubeConfig` of client-node, a kubeconfig as a plain object, or a client of
   * `createPodClient`, which the agent does not close. Without a client, the agent runs only static pods,
   * and has no Node, events or mirror pods.
   */
  readonly client?: HTTPPodClient | KubeConfigSource | undefined;
  /** Runs the containers. */
  readonly runtime: ContainerRuntime;
  /**
   * Where pods come from: `fileSource()`, `httpSource()`, `apiSource()` or your own sources, with unique names. With a
   * client, `apiSource()` is added if it is missing; without a client it is refused. Default: only that.
   */
  readonly sources?: readonly PodSource[] | undefined;
  /** False if the agent must not register or update the Node. Default: `{}`. */
  readonly node?: NodeAgentNode | false | undefined;
  /**
   * Sysctls that pods may set in addition to the safe ones, or prefixes of sysctls: `net.core.*`. Only namespaced
   * sysctls are allowed. Default: none. kubelet: `--allowed-unsafe-sysctls`.
   */
  readonly allowedUnsafeSysctls?: readonly string[] | undefined;
  /**
   * Decides about a new pod, or a resized pod, after the kubelet's own checks: operating system, sysctls,
   * resources, node affinity, node name, host ports, taints. A new pod that is refused gets the phase Failed
   * with the reason and the message, and none of its containers is started. After a restart of the agent, it
   * is called again for each running pod. If it throws, the pod is refused with the reason
   * `UnexpectedAdmissionError`. Source: kubelet `canAdmitPod`. Default: such pods are admitted.
   */
  readonly canAdmitPod?: ((attributes: PodAdmitAttributes) => PodAdmitResult) | undefined;
  /** Default: pods need no volumes. */
  readonly volumeManager?: VolumeManager | undefined;
  /** How images are pulled, and which pods may use those that are present. Default: as the kubelet. */
  readonly imagePulls?: ImagePullOptions | undefined;
  /**
   * When unused images are removed; false: never. Only with a runtime that has `listImages`, `removeImage` and
   * `imageFsStats`. Default: the kubelet's thresholds.
   */
  readonly imageGC?: ImageGCPolicy | false | undefined;
  /**
   * Eviction of pods while the machine runs out of a resource. Pods that exceed their limits of local storage are evicted
   * in any case, as far as the runtime and the volume manager measure it. Default: none.
   */
  readonly eviction?: EvictionOptions | undefined;
  /** Runs postStart and preStop hooks. Default: `createHandlerRunner`. */
  readonly handlerRunner?: HandlerRunner | undefined;
  /** Runs probes. Default: `createProber`. */
  readonly prober?: Prober | undefined;
  /** Receives the events about pods and the Node. Default: they are written to the API server. */
  readonly eventRecorder?: EventRecorder | undefined;
  /** Further options of the agent's `StatusManager`. */
  readonly statusManager?: NodeStatusManagerOptions | undefined;
  readonly podStartupLatency?: Partial<PodStartupLatency> | undefined;
  /** Time-out of a runtime call in milliseconds. Default: 120,000. kubelet: `--runtime-request-timeout`. */
  readonly runtimeRequestTimeoutMs?: number | undefined;
  /** Default: pino at level `warn`. */
  readonly logger?: Partial<Logger> | undefined;
  /** Metrics of the agent and its status manager, for example `createPrometheusMetrics`. Default: nothing is measured. */
  readonly metrics?: Partial<Metrics & AgentMetrics> | undefined;
  /** Default: the system clock. */
  readonly clock?: ClockLike | undefined;
  /** The source of jitter, a number in [0, 1). Default `Math.random`. */
  readonly random?: (() => number) | undefined;
}

/** How `stop()` ends an agent. */
export interface NodeAgentStopOptions extends NodeStopOptions {
  /**
   * Terminate all pods, and report the Node as not ready, as the kubelet does when its machine shuts
   * down: the pods end with the reason `Terminated`, and new pods are refused. A pod fails, unless all of its containers exit
   * with 0: then it succeeds. Default: false: the containers keep running, and the next agent adopts them.
   */
  readonly terminatePods?: boolean | undefined;
  /** With `terminatePods`, the maximum grace period of a pod in seconds. Default: each pod's own. */
  readonly gracePeriodSeconds?: number | undefined;
}
