export {
  ApiServer,
  type ApiServerOptions,
  ApiStatusError,
  type HistoryEntry,
  type PodAccess,
  type PodDeletion,
  type RequestRecord,
} from './api-server/index.ts';
export { FakeClock } from './fake-clock.ts';
export { FakePodClient, type FakeAction, type FakeMatch, type FakeReaction, type FakeVerb } from './fake-pod-client.ts';
