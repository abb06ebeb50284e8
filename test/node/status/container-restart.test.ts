import { describe, expect, it } from 'vitest';
import type { Pod } from 'kubelet-status-manager';
import {
  hasAnyActiveRegularContainerStarted,
  hasAnyRegularContainerCreated,
  shouldContainerBeRestarted,
} from '../../../src/node/status/should-container-be-restarted.ts';
import type { RuntimeContainerState, RuntimePodStatus } from '../../../src/node/runtime/runtime-pod-status.ts';

const app = { name: 'app' };
const pod: Pod = { metadata: { name: 'web' }, spec: { containers: [app], initContainers: [{ name: 'init' }] } };
const runtimeWith = (name: string, state: RuntimeContainerState, exitCode?: number): RuntimePodStatus => ({
  sandboxes: [],
  containers: [{ id: '1', name, state, createdAtMs: 0, exitCode }],
});

describe('shouldContainerBeRestarted', () => {
  it.each<[string, RuntimePodStatus, string | undefined, boolean]>([
    ['has never run', { sandboxes: [], containers: [] }, 'Never', true],
    ['is running', runtimeWith('app', 'running'), 'Always', false],
    ['was only created', runtimeWith('app', 'created'), 'Never', true],
    ['is in an unknown state', runtimeWith('app', 'unknown'), 'Never', true],
    ['has exited, and never restarts', runtimeWith('app', 'exited', 1), 'Never', false],
    ['has failed, and restarts on failure', runtimeWith('app', 'exited', 1), 'OnFailure', true],
    ['has succeeded, and restarts on failure', runtimeWith('app', 'exited'), 'OnFailure', false],
    ['has exited, and restarts by default', runtimeWith('app', 'exited', 0), undefined, true],
  ])('of a container that %s', (_, runtimeStatus, restartPolicy, expected) => {
    const of = { ...pod, spec: { ...pod.spec, restartPolicy } };
    expect(shouldContainerBeRestarted(app, of, runtimeStatus.containers[0])).toBe(expected);
    const deleted = { ...of, metadata: { ...of.metadata, deletionTimestamp: '2026-01-02T03:04:05Z' } };
    expect(shouldContainerBeRestarted(app, deleted, runtimeStatus.containers[0])).toBe(false);
  });

  it('of a container in a pod without metadata and spec', () => {
    expect(shouldContainerBeRestarted(app, {}, runtimeWith('app', 'exited', 1).containers[0])).toBe(true);
  });
});

describe('hasAnyRegularContainerCreated', () => {
  it.each<[RuntimeContainerState, boolean]>([
    ['created', true],
    ['running', true],
    ['exited', true],
    ['unknown', false],
  ])('%s: %s', (state, expected) => {
    expect(hasAnyRegularContainerCreated(pod, runtimeWith('app', state))).toBe(expected);
    expect(hasAnyRegularContainerCreated(pod, runtimeWith('init', state))).toBe(false);
    expect(hasAnyRegularContainerCreated({}, runtimeWith('app', state))).toBe(false);
  });
});

it('hasAnyActiveRegularContainerStarted: of the regular containers, any one', () => {
  const both = { spec: { containers: [{ name: 'other' }, app] } };
  expect(hasAnyActiveRegularContainerStarted(both, [app])).toBe(true);
  expect(hasAnyActiveRegularContainerStarted(pod, [{ name: 'init' }])).toBe(false);
  expect(hasAnyActiveRegularContainerStarted(pod, [])).toBe(false);
  expect(hasAnyActiveRegularContainerStarted({}, [app])).toBe(false);
});
