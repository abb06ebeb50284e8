export {
  type ResumeOptions,
  type ResumeResult,
  StatusManager,
  type StatusListener,
  type StopOptions,
} from './status-manager.ts';
export type { PodStatusProvider, StatusManagerLike } from './status-manager-like.ts';
export type { OutageExplanation, PodCause, PodExplanation, ReadyExplanation } from './explain/explanation.ts';
export type { UnreadyCause } from './explain/unready-causes.ts';
export type { ManagerInspection, PodInspection } from './inspection.ts';
export type { SentAs } from './cache/pod-status-cache.ts';
export type { OutageInspection } from './sync/api-outage.ts';
export type { StatusEventRecorder, PodStatusEvent, PodStatusEventReason } from './sync/pod-events.ts';
export type { HotLoop } from './sync/resend-detector.ts';
export type { RequestedDeletion } from './sync/terminating-pods.ts';
export type { WaitingFor } from './sync/waiting-for.ts';
export type { BackOffReason } from './sync/back-off.ts';
export { defaultOptions, type StatusManagerOptions } from './options.ts';
export { StatusManagerError, type StatusManagerErrorCode } from '../shared/errors.ts';
export type { IgnoredReason, Rejection, UpdateResult } from './cache/update-result.ts';
export type { ResizeInProgressChange } from './cache/resize-conditions.ts';
export type { PodStatusListener } from './cache/pod-status-listener.ts';
export { outcomeChannelName } from './sync/outcomes.ts';
export type { OutcomeListener, StatusOutcome } from './sync/status-outcome.ts';
export type { WrittenResult } from './sync/written-waiters.ts';
export type { PatchStrategy } from './sync/decide.ts';
export type { PodStartupLatency, ReadBeforePatch } from './sync/pod-syncer.ts';
export { RequestLimiter, type RequestLimiterOptions } from './sync/request-limiter.ts';
export type { SyncBatchResult } from './sync/manual-batch.ts';
export type { ManagerState } from './sync/manager-state.ts';

// Pods
export { BasicPodManager, type PodAndMirrorPod } from '../kube/basic-pod-manager.ts';
export type { PodDeletionSafety } from './pod-deletion-safety.ts';
export type { InformerState, PodManager, UIDTranslations } from '../kube/pod-manager.ts';
export { getPodFullName, isMirrorPod, isStaticPod } from '../kube/static-pods.ts';

export {
  type NodeResources,
  podResourcesAreReclaimed,
  type ReclaimedResult,
} from './allocation/pod-resources-reclaimed.ts';

// What an agent needs to make a status from what it sees
export { generateAPIPodStatus, type ObservedPod } from './status/generate.ts';
export { computePodQOS, type PodQOSClass } from './status/qos.ts';
export {
  generateContainersReadyCondition,
  generatePodInitializedCondition,
  generatePodReadyCondition,
  needToReconcilePodReadiness,
} from './status/generate-conditions.ts';
export {
  generateAllContainersRestartingCondition,
  generatePodReadyToStartContainersCondition,
  type PodSandbox,
  type RuntimeContainer,
  shouldAllContainersRestart,
} from './status/generate-runtime-conditions.ts';
export { podConditionByKubelet, podConditionSharedByKubelet } from './status/ownership.ts';
export { containerShouldRestart, isRestartableInitContainer, matchingRestartRule } from './status/container-restart.ts';
export { podRequests } from './status/pod-resources.ts';
export { timeFromEpochMs } from '../shared/time.ts';
export { getPhase, isPodPhaseTerminal, type PodPhase } from './status/phase.ts';
export { addQuantities, canonicalQuantity, compareQuantities, quantitiesEqual } from '../kube/quantity.ts';

// The manager's own rules; they trust a status to be canonical: `canonicalPodStatus` makes and checks one
export { canonicalPodStatus, type CanonicalOptions } from './status/canonical.ts';
export { isPodStatusByKubeletEqual } from './status/equality.ts';
export { type MergedPodStatus, mergePodStatus } from './status/merge.ts';
export { normalizeStatus } from './status/normalize.ts';
export { hasPodInitialized, terminatedPodStatus } from './status/terminate.ts';
export { checkContainerStateTransition, type IllegalTransition } from './status/transitions.ts';
export { createStatusPatch, diffPodStatus } from './status/strategic-merge.ts';
export { applyPodStatusPatch } from './status/strategic-merge-apply.ts';
export { createStatusJSONPatch } from './status/json-patch.ts';

// The API server
export { createCoreV1PodClient, type CoreV1PodClientOptions } from '../kube/client/core-v1-pod-client.ts';
export type { CoreV1ApiLike } from '../kube/client/core-v1-api-like.ts';
export {
  APIError,
  type APIErrorCause,
  type APIErrorKind,
  type APIErrorOptions,
  classifyAPIError,
  describeAPIError,
  type FailureClass,
} from '../kube/client/api-error.ts';
export { InFlightBound, type InFlightBoundOptions } from '../kube/client/in-flight-bound.ts';
export type {
  ClosablePodClient,
  DeletePodOptions,
  JSONPatchOperation,
  PatchType,
  PodClient,
  PodReference,
  PodStatusChanges,
  PodStatusPatch,
  RequestOptions,
  RequestVerb,
  StrategicMergePatchBody,
} from '../kube/client/pod-client.ts';

// Traces
export { type AcceptedMessage, type RequestMessage, type SyncMessage, tracingChannelNames } from './tracing.ts';

// What the user of an agent may do
export { accessParts, type AccessPart, type Permission } from '../kube/access/permissions.ts';
export { type AccessClient, type AccessOptions, checkAccess } from '../kube/access/check-access.ts';
export type { AccessCheck, AccessReport } from '../kube/access/access-report.ts';
export { logMissingAccess } from '../kube/access/log-missing-access.ts';
export { rbacManifest, type RBACManifestOptions, type RBACSubject } from '../kube/access/rbac-manifest.ts';
export type { APIRequests, APIResponse } from '../kube/client/api-requests.ts';
export type { ApiClientMaker } from '../kube/client/kube-config-requests.ts';

// Allocated resources
export { type PodResizeStatus, type AllocationState } from './allocation/allocation-state.ts';
export { MemoryState } from './allocation/memory-state.ts';
export { noopState } from './allocation/noop-state.ts';
export { openCheckpointState } from './allocation/checkpoint-state.ts';

// What survives a crash
export { fileJournal, type FileJournalOptions } from './journal/file-journal.ts';
export type { FsyncPolicy } from './journal/journal-recorder.ts';
export type { Journal, JournalEntry } from './journal/journal.ts';
export type { RecoveredStatus } from './recovered-statuses.ts';

// The surroundings
export type { AbortSignalLike } from '../shared/abort.ts';
export { type Clock, systemClock, type Timer } from '../shared/clock.ts';
export type { ClockLike } from '../shared/guarded-clock.ts';
export { resolveClock, resolveLogger, resolveRandom } from '../shared/ports.ts';
export type { Logger, LogFunction } from '../shared/logger.ts';
export {
  type Metrics,
  noopMetrics,
  type ContainerType,
  type PendingResizeCount,
  type PriorityBucket,
  type OutcomeKind,
  type RefusedUpdateReason,
  type RequestOutcome,
  type ResizeResolution,
  type StatusGauges,
  type InformerGauges,
  type TerminatingPodsGauge,
  type TerminatingWait,
  type WaitReason,
} from './metrics.ts';
export type * from '../kube/types.ts';
