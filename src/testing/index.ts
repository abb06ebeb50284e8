export { FakeClock } from './fake-clock.ts';
export { FakePodClient, type FakeAction, type FakeMatch, type FakeReaction, type FakeVerb } from './fake-pod-client.ts';
