/* What an agent, a virtual node, a runtime and the kubelet API share. */

// The node
export { agentGauges } from './agent-gauges.ts';
export { type APIConnection, openAPIConnection } from './api-connection.ts';
export { guardedEventRecorder, guardedRecordMetric, registerGauges } from './guarded-callbacks.ts';
export type { NodeContext } from './node-context.ts';
export {
  type AgentStatusManager,
  type NodeAgentNode,
  type NodeAgentState,
  nodeFields,
  type NodeStatusManagerOptions,
  type NodeStopOptions,
  requireNode,
  requireNodeName,
  statusManagerFields,
} from './node-options.ts';
export { PodScopes } from './owned-pod-scope.ts';
export type { InPodScope, PodCallOptions, PodScope } from './pod-scope.ts';

// admission
export { ShutdownAdmitHandler, userAdmitHandler } from './admission/admit-handlers.ts';
export { AppArmorAdmitHandler, appArmorProfile, deprecatedAppArmorProfile } from './admission/app-armor.ts';
export { OwnNode } from './admission/own-node.ts';

// allocation
export { amountOf, areAmountsEqual, compareAmounts, containerResources } from './allocation/container-resources.ts';
export type { PodAdmitAttributes, PodAdmitHandler, PodAdmitResult } from './allocation/pod-admission.ts';
export { actuatedContainerFromStatus, actuatedPodFromStatus } from './allocation/reported-resources.ts';
export { resizeMessage } from './allocation/resize-message.ts';

// certificate
export { CertificateManager, servingKind } from './certificate/certificate-manager.ts';
export type { KeyPair } from './certificate/certificate-store.ts';
export { startClientCertificateManager } from './certificate/client-certificate.ts';

// config
export { apiSource } from './config/api-source.ts';
export { configSeenAnnotation, foreignAnnotations } from './config/check-and-update-pod.ts';
export { fileSource } from './config/file-source.ts';
export { httpSource } from './config/http-source.ts';
export type { PodConfigUpdate } from './config/pod-config.ts';
export {
  apiSourceName,
  type PodSink,
  type PodSource,
  type PodSourceContext,
  type RefusedManifest,
} from './config/pod-source.ts';

// container-options
export { APIObjects } from './container-options/api-objects.ts';
export {
  lookupCredentials,
  matchesRegistry,
  type KeyringRegistry,
  type KeyringEntry,
  registryOf,
  splitRepository,
} from './container-options/docker-keyring.ts';
export { makeEnvironmentVariables } from './container-options/environment.ts';
export { expandContainerCommandAndArgs, expandReferences } from './container-options/expand-references.ts';
export { ExpansionLimit } from './container-options/expansion-limit.ts';
export { pullCredentials, readPullSecrets } from './container-options/pull-credentials.ts';
export type {
  ContainerMount,
  EnvironmentVariable,
  PodDNS,
  PullCredentials,
  RunContainerOptions,
} from './container-options/run-container-options.ts';
export type { RuntimeHelper } from './container-options/runtime-helper.ts';
export { ServiceLister, type ServiceListerOptions } from './container-options/service-lister.ts';

// events
export { APIEventRecorder, type EventRecorderInspection } from './events/api-event-recorder.ts';
export { createEventClient, type EventClient } from './events/event-client.ts';
export { eventReasons } from './events/event-reasons.ts';
export type { EventRecorder, ObjectEvent, PodEvent, PodEventRecorder } from './events/event-recorder.ts';
export { nodeReference } from './events/kube-event.ts';

// host-paths
export { diskUsage, type UsageInfo } from './host-paths/disk-usage.ts';
export { codeOf, undefinedIfMissing } from './host-paths/error-code.ts';
export { type EntryName, HostDirectory } from './host-paths/host-directory.ts';
export { type HostFiles, systemFiles } from './host-paths/host-files.ts';
export { exists, readAll, readEnd } from './host-paths/host-file.ts';
export { checkHostPathType } from './host-paths/host-path-type.ts';
export { useLogFolder } from './host-paths/log-folder.ts';
export {
  bindMountOpenFile,
  hasMounts,
  isMountPoint,
  mountHugePages,
  mountTmpfs,
  unmountAll,
} from './host-paths/mounts.ts';
export { cleanPath, requireName, requirePathLength } from './host-paths/names.ts';
export { removeAll } from './host-paths/remove-all.ts';
export { resolveInside, withoutLinks } from './host-paths/resolve.ts';
export { walk } from './host-paths/walk.ts';
export { watchFile } from './host-paths/watch-file.ts';

// http-server
export {
  type CheckedInspection,
  formatChecks,
  type HealthCheck,
  healthChecks,
  type MetricsSource,
} from './http-server/health-checks.ts';

// pipeline
export { createPodInputs, createPodLoop, createPodStatuses, createPodWorkers } from './pipeline/pod-pipeline.ts';

// pod-spec
export { refusedFields } from './pod-spec/refused-fields.ts';

// pod-workers
export { ActiveDeadlineHandler } from './pod-workers/active-deadline.ts';
export {
  type Eviction,
  evictionGracePeriod,
  evictPod,
  isCriticalPod,
  withDisruptionTarget,
} from './pod-workers/evict-pod.ts';
export { killPodNow } from './pod-workers/kill-pod-now.ts';
export { BackOffError } from './pod-workers/next-sync-delay.ts';
export type { PodSyncStatuses } from './pod-workers/pod-sync-statuses.ts';
export type {
  PodCache,
  PodCacheOptions,
  PodLifecycleSyncer,
  SyncPodOptions,
  SyncPodResult,
} from './pod-workers/pod-syncer.ts';
export { type PodStatusFn, type SyncPodType, toAPIPod } from './pod-workers/pod-update.ts';
export type { PodWorkerInspection } from './pod-workers/pod-worker-inspection.ts';
export type { PodWorkers } from './pod-workers/pod-workers.ts';
export { type SyncAction, SyncActionError, type SyncActionResult, syncError } from './pod-workers/sync-result.ts';

// probes
export {
  type ProbeResult,
  type ProbeResults,
  ProbeResultsManager,
  type ProbeType,
  type ProbeUpdate,
} from './probes/probe-results.ts';
export { probeOf, probeTypeNames, probeTypes } from './probes/probe-types.ts';

// registration
export { isCgroup2UnifiedMode } from './registration/cgroup-version.ts';
export { isResponse } from './registration/node-client.ts';
export { readyErrorsOf } from './registration/node-conditions.ts';
export { agentFeatures } from './registration/node-defaults.ts';
export {
  type NodeReporterInspection,
  type NodeReporterOptions,
  requireNodeReporterOptions,
} from './registration/node-reporter-options.ts';
export { NodeReporter } from './registration/node-reporter.ts';
export { nodeStats, type NodeStats } from './registration/node-stats.ts';
export { nodeStatusOf } from './registration/node-status-of.ts';
export type { Lease, Node, NodeAddress, NodeCondition, NodeStatus } from './registration/node-types.ts';
export { toleratesTaints } from './registration/tolerates-taints.ts';

// runtime
export { type BoundedRuntime, boundedRuntime, runtimeCalls } from './runtime/bounded-runtime.ts';
export {
  type CallOptions,
  type ContainerConfig,
  ContainerConfigError,
  type ContainerRuntime,
  type ExecResult,
  ImageError,
  type ImagePullSecret,
  noTimeoutMs,
  type PodSandboxConfig,
  type PulledImage,
  type RuntimeCondition,
  type RuntimeEvent,
  type RuntimeEventType,
  type RuntimePod,
} from './runtime/container-runtime.ts';
export { hashContainer } from './runtime/hash-container.ts';
export { parseImageName } from './runtime/image-name.ts';
export type {
  ContainerStats,
  CPUStats,
  FsStats,
  ImageFsStats,
  InterfaceStats,
  IOStats,
  MemoryStats,
  NetworkStats,
  PodStats,
  PSIStats,
  SwapStats,
} from './runtime/pod-stats.ts';
export { isImagePullSecret, requirePodStats } from './runtime/require-runtime-result.ts';
export { requireRuntimeStatus } from './runtime/require-runtime-status.ts';
export {
  activeContainerStatuses,
  findContainerStatusByName,
  type RuntimeContainerState,
  type RuntimeContainerStatus,
  type RuntimePodStatus,
  type RuntimeSandboxStatus,
} from './runtime/runtime-pod-status.ts';
export { fileSystemInfo, type FileSystemInfo, type RuntimeImage } from './runtime/runtime-storage.ts';
export type {
  ContainerIO,
  ContainerLog,
  ContainerLogOptions,
  StreamingRuntime,
  StreamOptions,
  TerminalSize,
} from './runtime/streaming-runtime.ts';

// status
export {
  hasAnyActiveRegularContainerStarted,
  hasAnyRegularContainerCreated,
  shouldContainerBeRestarted,
} from './status/container-restart.ts';
export type { StartFailure, StartFailures } from './status/container-statuses.ts';
export { generatePodStatus, type PodObservation } from './status/generate-pod-status.ts';
export { isOlderThanAgent } from './status/older-than-agent.ts';
export { keepReportedEnds } from './status/reported-ends.ts';
export { setGeneratedStatus } from './status/set-generated-status.ts';

// sync-loop
export {
  computeEvents,
  type PlegContainerStates,
  plegContainerStates,
  type PodLifecycleEvent,
} from './sync-loop/pod-lifecycle-event.ts';
export type { SyncLoopInspection } from './sync-loop/sync-loop.ts';

// volumes
export {
  collectPayload,
  type FileProjection,
  type PayloadSources,
  requireSupportedVolume,
  setUpFailure,
  type VolumePayload,
} from './volumes/volume-payload.ts';
export {
  fsGroupOf,
  isLocalEphemeralVolume,
  isReadOnlySource,
  podDirectory,
  podDirectoryNames,
  type Volume,
  volumeNames,
  volumePath,
  volumesOf,
} from './volumes/volume-sources.ts';
