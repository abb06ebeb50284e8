/* What an agent, a virtual node, a runtime and the kubelet API share: all exports of some modules, and these of the others. */

// The node
export { agentGauges } from './agent-gauges.ts';
export { type APIConnection, openAPIConnection } from './api-connection.ts';
export * from './guarded-callbacks.ts';
export type { Measured, NodeContext } from './node-context.ts';
export * from './node-options.ts';
export { PodScopes } from './owned-pod-scope.ts';
export * from './pod-scope.ts';

// admission
export * from './admission/admit-handlers.ts';
export * from './admission/app-armor.ts';
export { OwnNode } from './admission/own-node.ts';

// allocation
export * from './allocation/container-resources.ts';
export * from './allocation/pod-admit-handler.ts';
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
export * from './container-options/docker-keyring.ts';
export { makeEnvironmentVariables } from './container-options/make-environment.ts';
export * from './container-options/expand-references.ts';
export { ExpansionLimit } from './container-options/expansion-limit.ts';
export * from './container-options/pull-credentials.ts';
export * from './container-options/run-container-options.ts';
export type { RuntimeHelper } from './container-options/runtime-helper.ts';
export { ServiceLister, type ServiceListerOptions } from './container-options/service-lister.ts';

// events
export { APIEventRecorder, type EventRecorderInspection } from './events/api-event-recorder.ts';
export * from './events/event-client.ts';
export * from './events/event-recorder.ts';
export { nodeReference } from './events/kube-event.ts';

// host-paths
export { diskUsage, type UsageInfo } from './host-paths/disk-usage.ts';
export * from './host-paths/error-code.ts';
export { type EntryName, HostDirectory } from './host-paths/host-directory.ts';
export { type HostFiles, makingUntil, systemFiles } from './host-paths/host-files.ts';
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
export * from './host-paths/names.ts';
export { removeAll } from './host-paths/remove-all.ts';
export * from './host-paths/resolve.ts';
export { walk } from './host-paths/walk.ts';
export { watchFile } from './host-paths/watch-file.ts';

// http-server
export * from './http-server/health-checks.ts';
export * from './http-server/node-problems.ts';
export { type AgentServer, type ServeAgentOptions, serveEndpoints } from './http-server/serve-endpoints.ts';

// pipeline
export { createPodInputs, createPodLoop, createPodStatuses, createPodWorkers } from './pipeline/pod-pipeline.ts';

// pod-spec
export { each } from './pod-spec/pod-spec-fields.ts';
export { refusedFields } from './pod-spec/refused-fields.ts';

// pod-workers
export { ActiveDeadlineHandler } from './pod-workers/active-deadline.ts';
export * from './pod-workers/crash-loop.ts';
export * from './pod-workers/evict-pod.ts';
export { killPodNow } from './pod-workers/kill-pod-now.ts';
export { BackOffError } from './pod-workers/next-sync-delay.ts';
export type { PodSyncStatuses } from './pod-workers/pod-sync-statuses.ts';
export * from './pod-workers/pod-lifecycle-syncer.ts';
export { type PodStatusFn, type SyncPodType, toAPIPod } from './pod-workers/update-pod-options.ts';
export type { PodWorkerInspection } from './pod-workers/pod-worker-inspection.ts';
export type { PodWorkers } from './pod-workers/pod-workers.ts';
export { type SyncAction, SyncActionError, type SyncActionResult, syncError } from './pod-workers/sync-action.ts';

// prober
export { createProber } from './prober/create-prober.ts';
export { maxOutputLength } from './prober/exec-probe.ts';
export { sendHTTPRequest } from './prober/http-client.ts';
export { type HTTPProbeRequest, httpProbeRequest, lifecycleUserAgent } from './prober/http-probe-request.ts';
export { httpResponseToHTTPSClient } from './prober/network-error.ts';
export { ProberManager, type ProberManagerOptions } from './prober/prober-manager.ts';
export { boundedProber, type Prober, type ProbeRequest } from './prober/prober.ts';

// probes
export type { ProbeResult, ProbeResults } from './probes/probe-results.ts';
export * from './probes/probe-types.ts';

// registration
export { isCgroup2UnifiedMode } from './registration/cgroup-version.ts';
export { isResponse } from './registration/node-client.ts';
export { pressureConditions, type PressureType, readyErrorsOf } from './registration/node-conditions.ts';
export { agentFeatures } from './registration/node-defaults.ts';
export { type NodeReporterInspection, type NodeReporterOptions } from './registration/node-reporter-options.ts';
export { NodeReporter } from './registration/node-reporter.ts';
export { NodeWatch } from './registration/node-watch.ts';
export { nodeStats, type NodeStats } from './registration/node-stats.ts';
export { nodeStatusOf } from './registration/node-status-of.ts';
export * from './registration/node-types.ts';
export { toleratesTaints } from './registration/tolerates-taints.ts';

// runtime
export { type BoundedRuntime, boundedRuntime, runtimeCalls } from './runtime/bounded-runtime.ts';
export * from './runtime/container-runtime.ts';
export { hashContainer } from './runtime/hash-container.ts';
export { parseImageName } from './runtime/image-name.ts';
export * from './runtime/pod-stats.ts';
export { isImagePullSecret, requirePodStats } from './runtime/require-runtime-result.ts';
export { requireRuntimeStatus } from './runtime/require-runtime-status.ts';
export * from './runtime/runtime-pod-status.ts';
export * from './runtime/runtime-storage.ts';
export * from './runtime/streaming-runtime.ts';

// status
export * from './status/should-container-be-restarted.ts';
export type { StartFailure, StartFailures } from './status/convert-container-statuses.ts';
export { generatePodStatus, type PodObservation } from './status/generate-pod-status.ts';
export { keepReasonOfEnd, keepReportedEnds, whyEnded } from './status/reported-ends.ts';
export { setGeneratedStatus } from './status/set-generated-status.ts';

// sync-loop
export * from './sync-loop/pod-lifecycle-event.ts';
export type { SyncLoopInspection } from './sync-loop/kubelet-sync-loop.ts';

// volumes
export * from './volumes/volume-payload.ts';
export * from './volumes/volume-sources.ts';
