/* Fakes of the clock, the client, the runtime and the API server, for unit tests. */

export { APIServer, type RequestRecord } from '../api-server/index.ts';
export { checkContainerRuntime } from './check-container-runtime/check-container-runtime.ts';
export { checkPodProvider } from './check-pod-provider/check-pod-provider.ts';
export { FakeContainerRuntime, type FakeExec } from './container-runtime/fake-container-runtime.ts';
export type { RuntimeCall } from './container-runtime/runtime-call.ts';
export { FakeClock } from './fake-clock.ts';
export { FakePodClient, type FakeAction, type FakeReaction } from './fake-pod-client.ts';
export { fault, type Fault } from '../api-server/faults/fault.ts';
export type { RequestMatch } from '../api-server/faults/fault-match.ts';
export type { Faults } from '../api-server/faults/faults.ts';
export { recordingLogger, type RecordingLogger } from './recording-logger.ts';
export { RecordingMetrics } from './recording-metrics.ts';
export { settle } from './settle.ts';
export { silentLogger } from './recording-logger.ts';
export { SyncedPodManager } from './synced-pod-manager.ts';
