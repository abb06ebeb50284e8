// A complete agent
export type { HookHTTPRequest } from './pod-workers/http-hook.ts';
export { createNodeAgent } from './node-agent/create-node-agent.ts';
export type { NodeAgent } from './node-agent/node-agent.ts';
export type { NodeAgentInspection, NodeAgentState } from './node-agent/node-agent-inspection.ts';
export type {
  AgentStatusManager,
  CanAdmitPod,
  NodeAgentNode,
  NodeAgentOptions,
  NodeAgentSources,
  NodeAgentStopOptions,
} from './node-agent/node-agent-options.ts';
export { type AgentServer, type MetricsSource, serveAgent, type ServeAgentOptions } from './http-server/serve-agent.ts';
export type { SyncLoopInspection } from './sync-loop/sync-loop.ts';

// The container runtime
export type {
  CallOptions,
  ContainerConfig,
  ContainerRuntime,
  ExecResult,
  PodSandboxConfig,
  RuntimeEvent,
  RuntimeEventType,
  RuntimePod,
} from './runtime/container-runtime.ts';
export { ContainerConfigError } from './runtime/container-config-error.ts';
export { podStatusFromRuntime } from './runtime/pod-status-from-runtime.ts';

// What the runtime reports
export {
  activeContainerStatuses,
  findContainerStatusByName,
  type RuntimeContainerState,
  type RuntimeContainerStatus,
  type RuntimePodStatus,
  type RuntimeSandboxStatus,
} from './runtime/runtime-pod-status.ts';
export { hashContainer } from './runtime/hash-container.ts';

// Generating a pod's status from it
export { generatePodStatus, type PodObservation } from './status/generate-pod-status.ts';
export {
  type ContainerStatusesInput,
  convertToAPIContainerStatuses,
  convertToAPIInitContainerStatuses,
  type StartFailure,
  type StartFailures,
} from './status/container-statuses.ts';
export { type ProbedStatuses, type ProbeState, updatePodStatus } from './status/probed-statuses.ts';
export {
  noProbeResults,
  type ProbeResult,
  type ProbeResultLookup,
  type ProbeResults,
  type ProbeType,
} from './prober/probe-results.ts';

export { ReasonCache } from './status/reason-cache.ts';

// Probes
export { createProber, type ProberOptions } from './prober/create-prober.ts';
export type { Prober, ProbeRequest } from './prober/prober.ts';
export { ProberManager, type ProberManagerOptions } from './prober/prober-manager.ts';
export type { ProbeUpdate } from './prober/probe-results.ts';

// Deciding what to do next for a pod
export { computePodActions } from './actions/compute-pod-actions.ts';
export type { ActuatedResourcesOf } from './actions/pod-resize-action.ts';
export type {
  ContainerKillReason,
  ContainerToKill,
  ContainerToReset,
  ContainerToUpdate,
  PodActions,
} from './actions/pod-actions.ts';
export { shouldContainerBeRestarted } from './actions/container-restart.ts';
export { podSandboxChanged, type SandboxChange } from './actions/sandbox-changed.ts';

// Allocated resources and admission
export { AllocationManager, type AllocationManagerOptions } from './allocation/allocation-manager.ts';
export type { PodAdmitAttributes, PodAdmitHandler, PodAdmitResult } from './allocation/pod-admission.ts';
export type { ResizableResource } from './allocation/container-resources.ts';
export type { AllocatedPod } from './allocation/updated-from-allocation.ts';

// Back-off
export { BackOff, type BackOffOptions } from './back-off/flowcontrol-backoff.ts';
export {
  type CrashLoop,
  createCrashLoopBackOff,
  createImagePullBackOff,
  doBackOff,
} from './back-off/crash-loop-back-off.ts';

// Pod workers
export { ActiveDeadlineHandler, type ActiveDeadlineHandlerOptions } from './pod-workers/active-deadline.ts';
export {
  AgentPodSyncer,
  type AgentPodSyncerOptions,
  type PodProbes,
  type VolumeManager,
} from './pod-workers/agent-pod-syncer.ts';
export {
  createHandlerRunner,
  type HandlerRequest,
  type HandlerRunner,
  type HandlerRunnerOptions,
} from './pod-workers/handler-runner.ts';
export { BackOffError, minBackOffExpiration } from './pod-workers/backoff-error.ts';
export { killPodNow } from './pod-workers/kill-pod-now.ts';
export type { PodEventRecorder } from './pod-workers/pod-event-recorder.ts';
export type { PodWorkerState } from './pod-workers/pod-sync-status.ts';
export type { PodCache, PodSyncer, SyncPodResult } from './pod-workers/pod-syncer.ts';
export type { KillPodOptions, PodStatusFn, SyncPodType, UpdatePodOptions } from './pod-workers/pod-update.ts';
export type { PodWorkerInspection, PodWorkersOptions, PodWorkerSync } from './pod-workers/pod-workers-options.ts';
export { PodWorkers } from './pod-workers/pod-workers.ts';
export { WorkQueue } from './pod-workers/work-queue.ts';

// Evictions
export { evictPod, type EvictPodOptions, type Eviction } from './eviction/evict-pod.ts';
export { isCriticalPod } from './eviction/is-critical-pod.ts';

// Removing exited containers
export { ContainerGC, type ContainerGCOptions } from './container-gc/container-gc.ts';

// Events
export {
  APIEventRecorder,
  type APIEventRecorderOptions,
  type EventRecorderInspection,
} from './events/api-event-recorder.ts';
export { createEventClient, type EventClient } from './events/event-client.ts';
export { type EventReason, eventReasons } from './events/event-reasons.ts';
export type { EventRecorder, EventType, ObjectEvent, ObjectReference, PodEvent } from './events/event-recorder.ts';
export type { KubeEvent, KubeEventPatch } from './events/kube-event.ts';
export type { APIRequests, APIResponse } from './api-requests.ts';

// Observing the runtime
export { GenericPLEG, type GenericPLEGOptions } from './pleg/generic-pleg.ts';
export type { PodLifecycleEvent, PodLifecycleEventType } from './pleg/pod-lifecycle-event.ts';
export { type Observation, RuntimePodCache, type RuntimePodCacheOptions } from './pleg/runtime-pod-cache.ts';
export { RuntimeErrorBackOff } from './pleg/runtime-error-backoff.ts';

// Mirror pods
export { createMirrorPodAPI, type MirrorPodAPI } from './mirror/mirror-pod-api.ts';
export { type MirrorNode, MirrorPodClient, type MirrorPodClientOptions } from './mirror/mirror-pod-client.ts';
export { isMirrorPodOf } from './mirror/mirror-pod-hash.ts';
export {
  deleteOrphanedMirrorPods,
  orphanedMirrorPods,
  type ReconcileMirrorPodOptions,
  tryReconcileMirrorPod,
} from './mirror/reconcile-mirror-pods.ts';

// The Node
export { NodeReporter } from './node/node-reporter.ts';
export type { NodeReporterInspection, NodeReporterOptions } from './node/node-reporter-options.ts';
export type { Node, NodeAddress, NodeCondition, NodeStatus, Taint } from './node/node-types.ts';

// Pod sources
export { type APIPods, APISource } from './config/api-source.ts';
export { FileSource, type FileSourceOptions } from './config/file-source.ts';
export { HTTPSource, type HTTPSourceOptions } from './config/http-source.ts';
export type { ParseManifest, PodSource } from './config/pod-source.ts';
export { PodConfig, type PodConfigOptions, type PodSink } from './config/pod-config.ts';
export type { PodConfigUpdate, PodOperation, PodSourceName } from './config/pod-update.ts';
