/*
 * The kubelet's status manager: a versioned cache of pod statuses, and the loop that writes them to the API server.
 * These are the exports of the package itself.
 */

export { StatusManager, type StatusListener } from './status-manager.ts';
export type { StatusManagerLike } from './status-manager-like.ts';
export type { PodExplanation } from './explain/explanation.ts';
export type { ManagerInspection, PodInspection } from './inspection.ts';
export type { StatusEventRecorder, PodStatusEvent } from './sync/status-events.ts';
export type { StatusManagerOptions } from './options.ts';
export { StatusManagerError } from '../shared/errors.ts';
export type { UpdateResult } from './cache/update-result.ts';
export type { StatusOutcome } from './sync/status-outcome.ts';
export type { WrittenResult } from './sync/status-outcome.ts';
export type { PodStartupLatency } from './sync/sync-ports.ts';
export { RequestLimiter } from './sync/request-limiter.ts';

// Pods
export { BasicPodManager } from '../kube/pod-manager/basic-pod-manager.ts';
export type { PodDeletionSafety } from './pod-deletion-safety.ts';
export type { InformerState, PodManager } from '../kube/pod-manager/pod-manager.ts';
export { isMirrorPod } from '../kube/pods/static-pods.ts';
export { toV1Pod } from '../kube/pods/to-v1-pod.ts';
export { podResourcesAreReclaimed } from './allocation/pod-resources-reclaimed.ts';

// Computing a pod's status
export { generateAPIPodStatus, type ObservedPod } from './status/generate.ts';
export { quantityValue } from '../kube/objects/quantity.ts';
export { applyPodStatusPatch } from './status/strategic-merge-apply.ts';

// The API server
export type { CoreV1ApiLike } from '../kube/client/core-v1-api-like.ts';
export { APIError } from '../kube/client/api-error.ts';
export type { PodClient, PodReference, PodStatusPatch, RequestOptions } from '../kube/client/pod-client.ts';

// Traces
export { type AcceptedMessage, type RequestMessage, type SyncMessage, tracingChannelNames } from './tracing.ts';

// Permissions
export { accessParts } from '../kube/access/permissions.ts';
export { type AccessClient, checkAccess } from '../kube/access/check-access.ts';
export type { AccessReport } from '../kube/access/access-report.ts';
export { logMissingAccess } from '../kube/access/log-missing-access.ts';
export { rbacManifest } from '../kube/access/rbac-manifest.ts';

// Allocated resources
export { type AllocationState, noopState } from './allocation/allocation-state.ts';
export { openCheckpointState } from './allocation/checkpoint-state.ts';

// Unsent statuses on disk
export { fileJournal } from './journal/file-journal.ts';
export type { Journal, JournalEntry } from './journal/journal.ts';

// Time, logs, metrics
export { type Clock, systemClock, type Timer } from '../shared/clock.ts';
export type { ClockLike } from '../shared/clock.ts';
export type { Logger } from '../shared/logger.ts';
export type { Metrics, StatusGauges } from './metrics.ts';

// Kubernetes types in public signatures; nested types: `PodSpec['containers']`
export type {
  Container,
  ContainerStatus,
  ContainerStatusInput,
  EphemeralContainer,
  LifecycleHandler,
  ObjectMeta,
  Pod,
  ValidPod,
  PodCondition,
  PodConditionInput,
  PodSpec,
  PodStatus,
  PodStatusInput,
  Probe,
  ResourceRequirements,
  ResourceRequirementsInput,
  Time,
} from '../kube/objects/types.ts';
