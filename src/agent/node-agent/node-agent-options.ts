import type {
  AllocationState,
  BasicPodManager,
  ClockLike,
  Journal,
  Logger,
  Metrics,
  Pod,
  PodStartupLatency,
  StatusManager,
  StatusManagerOptions,
} from '../../index.ts';
import type { HttpPodClient, KubeConfigSource } from '../../http.ts';
import type { PodAdmitAttributes, PodAdmitResult } from '../allocation/pod-admission.ts';
import type { FileSourceOptions } from '../config/file-source.ts';
import type { HttpSourceOptions } from '../config/http-source.ts';
import type { EventRecorder } from '../events/event-recorder.ts';
import type { NodeReporterOptions } from '../node/node-reporter-options.ts';
import type { VolumeManager } from '../pod-workers/agent-pod-syncer.ts';
import type { HandlerRunner } from '../pod-workers/handler-runner.ts';
import type { Prober } from '../prober/prober.ts';
import type { ContainerRuntime } from '../runtime/container-runtime.ts';

/** Where an agent's pods come from. Source: kubelet `--pod-manifest-path`, `--manifest-url`. */
export interface NodeAgentSources {
  /** The API server; only with a `client`, and then always. */
  readonly api?:
    | {
        /**
         * Whether a pod of the API server is this agent's to run. Pods for which it is false do not exist
         * for the agent: they are neither run nor changed. Must return the same for a pod each time, and
         * true for mirror pods. Default: every pod that is bound to the node.
         */
        readonly filter?: ((pod: Pod) => boolean) | undefined;
      }
    | undefined;
  /** Manifests of static pods in a folder or in one file. Default: none. */
  readonly file?: Pick<FileSourceOptions, 'path' | 'parse' | 'fileCheckFrequencyMs'> | undefined;
  /** Manifests of static pods behind a URL. Default: none. */
  readonly http?: Pick<HttpSourceOptions, 'url' | 'header' | 'parse' | 'httpCheckFrequencyMs'> | undefined;
}

/** What an agent's Node is like; see `NodeReporterOptions` for what is not described here. */
export interface NodeAgentNode extends Pick<
  NodeReporterOptions,
  | 'adoptNode'
  | 'annotations'
  | 'labels'
  | 'leaseDurationSeconds'
  | 'nodeStatus'
  | 'providerID'
  | 'readyErrors'
  | 'taints'
> {
  /**
   * IP addresses of the node, the primary one first, at most one of each IP family: the addresses of the
   * Node unless `nodeStatus` has others, and `hostIPs` of its pods. Default: none are reported.
   */
  readonly addresses?: readonly string[] | undefined;
}

/**
 * Whether there is room on this node for a new pod, or for a pod with other resources. A new pod that
 * is refused gets the phase Failed with the reason and the message, and none of its containers is
 * started; after a restart of the agent it is asked for again each pod that runs. When it throws, the
 * pod is refused with the reason `UnexpectedAdmissionError`. Source: kubelet `canAdmitPod`.
 */
export type CanAdmitPod = (attributes: PodAdmitAttributes) => PodAdmitResult;

/** Options of `createNodeAgent`. */
export interface NodeAgentOptions {
  /** Of the Node, in lower case. */
  readonly nodeName: string;
  /**
   * The API server: a `KubeConfig` of client-node, a kubeconfig as a plain object, or a client of
   * `createPodClient`, which is not closed by the agent. Without one, the agent runs static pods alone
   * and has no Node, events or mirror pods.
   */
  readonly client?: HttpPodClient | KubeConfigSource | undefined;
  /** Runs the containers. */
  readonly runtime: ContainerRuntime;
  /** Default: the API server alone. */
  readonly sources?: NodeAgentSources | undefined;
  /** False: somebody else registers the Node and keeps it up to date. Default: `{}`. */
  readonly node?: NodeAgentNode | false | undefined;
  /** Default: every pod is admitted. */
  readonly canAdmitPod?: CanAdmitPod | undefined;
  /** Default: pods need no volumes. */
  readonly volumeManager?: VolumeManager | undefined;
  /** Runs postStart and preStop hooks. Default: `createHandlerRunner`. */
  readonly handlerRunner?: HandlerRunner | undefined;
  /** Makes probes. Default: `createProber`. */
  readonly prober?: Prober | undefined;
  /** Takes the events about pods and the Node. Default: they are written to the API server. */
  readonly eventRecorder?: EventRecorder | undefined;
  /** As of `StatusManagerOptions`: `await fileJournal(directory)`. Default: none. */
  readonly journal?: Journal | undefined;
  /** Which resources pods have: `await openCheckpointState(directory)`. Default: in memory. */
  readonly allocationState?: AllocationState | undefined;
  /**
   * Which resources the containers were given last: `await openCheckpointState` of another directory.
   * Default: in memory, so that a resize that is in progress when the agent ends is not finished.
   */
  readonly actuatedState?: AllocationState | undefined;
  /** Further options of the agent's `StatusManager`. */
  readonly statusManager?:
    | Pick<
        StatusManagerOptions,
        | 'burst'
        | 'concurrency'
        | 'limiter'
        | 'patchStrategy'
        | 'qps'
        | 'readBeforePatch'
        | 'requestTimeoutMs'
        | 'syncPeriodMs'
      >
    | undefined;
  readonly podStartupLatency?: Partial<PodStartupLatency> | undefined;
  /** How long a call of the runtime may take, in milliseconds. Default: 120,000. kubelet: `--runtime-request-timeout`. */
  readonly runtimeRequestTimeoutMs?: number | undefined;
  /** Default: pino at level `warn`. */
  readonly logger?: Partial<Logger> | undefined;
  /** Of the status manager. Default: nothing is measured. */
  readonly metrics?: Partial<Metrics> | undefined;
  /** Default: the system clock. */
  readonly clock?: ClockLike | undefined;
  /** The source of jitter, a number in [0, 1). Default `Math.random`. */
  readonly random?: (() => number) | undefined;
}

/** The status manager of an agent. */
export type AgentStatusManager = StatusManager<BasicPodManager>;

/** How `stop()` ends an agent. */
export interface NodeAgentStopOptions {
  /** Write first what was not written yet to the API server: statuses and events. Default: false. */
  readonly drain?: boolean | undefined;
  /**
   * Terminate all pods, and report the Node as not ready, as the kubelet does when its machine shuts
   * down: the pods fail with the reason `Terminated`. Pods that come meanwhile are refused. Default:
   * false: the containers keep running, and the next agent finds them.
   */
  readonly terminatePods?: boolean | undefined;
  /** With `terminatePods`, the longest grace period of a pod, in seconds. Default: each pod's own. */
  readonly gracePeriodSeconds?: number | undefined;
  /** How long draining may take, in milliseconds; terminating the pods has its own time. Default: 10,000. */
  readonly deadlineMs?: number | undefined;
}
