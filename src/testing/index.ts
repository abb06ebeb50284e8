export {
  APIServer,
  type APIServerOptions,
  APIStatusError,
  type ClusterObject,
  type ClusterObjectAccess,
  type HistoryEntry,
  type PodAccess,
  type PodDeletion,
  type RequestRecord,
} from '../api-server/index.ts';
export {
  FakeContainerRuntime,
  type FakeContainerRuntimeOptions,
  type FakeExec,
} from './container-runtime/fake-container-runtime.ts';
export type { FakeExit, FakeRun } from './container-runtime/fake-container.ts';
export type { RuntimeCall, RuntimeCallMatch, RuntimeMethod } from './container-runtime/runtime-call.ts';
export { FakeClock } from './fake-clock.ts';
export {
  FakePodClient,
  type FakeAction,
  type FakeMatch,
  type FakePatch,
  type FakePodClientOptions,
  type FakeReaction,
  type FakeReactionResult,
  type FakeVerb,
} from './fake-pod-client.ts';
export { fault, type Fault, type FaultOf, type FaultStatus } from '../api-server/faults/fault.ts';
export type { FaultRequest, FaultVerb, RequestMatch } from '../api-server/faults/fault-match.ts';
export type { FaultMatch, Faults, PlannedFault, UsedFault } from '../api-server/faults/faults.ts';
export type { Mutation } from '../api-server/mutations.ts';
export type { PodEvent, PodEvents } from '../api-server/pod-events.ts';
export { type LoggedLine, recordingLogger, type RecordingLogger } from './recording-logger.ts';
export { type RecordedDeferredResize, type RecordedTermination, RecordingMetrics } from './recording-metrics.ts';
export type { InFlight } from '../api-server/requests-in-flight.ts';
export { settle, type SettledManager, type SettledServer, type SettlePart } from './settle.ts';
export { silentLogger } from './silent-logger.ts';
export { SyncedPodManager, type SyncedPodManagerOptions } from './synced-pod-manager.ts';
