import { describe, expect, test } from 'vitest';
import { ContainerdLog } from './containerd-log.ts';
import type { SeenContainer } from './runtime-snapshot.ts';

const logOf = (...messages: string[]): ContainerdLog =>
  new ContainerdLog(messages.map((message) => `time="2026-01-01T00:00:00Z" level=info msg="${message}\n`).join(''));

const boot = 'starting containerd" revision=1';
const started = String.raw`RunPodSandbox for &PodSandboxMetadata{Name:pod-1,Uid:u,Namespace:default,Attempt:0,} returns sandbox id \"5a\""`;
const stop = String.raw`StopPodSandbox for \"5a\"`;
const created = String.raw`CreateContainer within sandbox \"5a\" for &ContainerMetadata{Name:app,Attempt:0,} returns container id \"c1\""`;
const startFailed = (error: string): string => String.raw`StartContainer for \"c1\" failed" error="${error}: unknown"`;
const taskIsLeft = startFailed('failed to create containerd task: failed to get task pid: context canceled');

describe('containerd may leave the shim of a sandbox', () => {
  test.each([
    ['that has not started', [boot, 'starting signal loop" path=/state/5a']],
    ['that it was stopping when it was killed', [boot, started, `${stop}"`, boot, `${stop} returns successfully"`]],
    ['whose container keeps its task', [boot, started, created, taskIsLeft]],
  ])('%s', (_, messages) => {
    expect(logOf(...messages).mayLeaveShim('5a')).toBe(true);
  });
});

describe('containerd may not leave the shim of a sandbox', () => {
  test.each([
    ['that was running when it was killed', [boot, started, boot]],
    ['that it had stopped when it was killed', [boot, started, `${stop}"`, `${stop} returns successfully"`, boot]],
    ['that it could not stop', [boot, started, `${stop}"`, `${stop} failed" error=busy`, boot]],
    ['that it is stopping', [boot, started, `${stop}"`]],
    ['beside one that it was stopping', [boot, started, `${stop.replace('5a', '5b')}"`, boot]],
    ['whose container could not start', [boot, started, created, startFailed('no such file')]],
  ])('%s', (_, messages) => {
    expect(logOf(...messages).mayLeaveShim('5a')).toBe(false);
  });
});

describe('withoutStuck', () => {
  const container: SeenContainer = {
    ...{ id: 'c1', podUID: 'u', name: 'app', attempt: 0, state: 'exited', createdAt: 1 },
  };
  const sandbox = { id: '5a', podUID: 'u', ready: false };
  const others = { sandboxes: [{ ...sandbox, id: '5b' }], containers: [{ ...container, id: 'c2' }] };

  test('a container that keeps its task is left out, with its sandbox', () => {
    const snapshot = {
      sandboxes: [sandbox, ...others.sandboxes],
      containers: [container, ...others.containers],
    };
    expect(logOf(boot, started, created, taskIsLeft).withoutStuck(snapshot)).toEqual(others);
    expect(logOf(boot, started, created).withoutStuck(snapshot)).toEqual(snapshot);
  });

  test('what the agent can stop stays', () => {
    const snapshot = {
      sandboxes: [{ ...sandbox, ready: true }],
      containers: [{ ...container, state: 'running' as const }],
    };
    expect(logOf(boot, started, created, taskIsLeft).withoutStuck(snapshot)).toEqual(snapshot);
  });
});
