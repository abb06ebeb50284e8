import type { ContainerStatusInput } from '../../src/kube/types.ts';

type Members = Partial<ContainerStatusInput>;

export function running(name: string, members: Members = {}): ContainerStatusInput {
  return { name, state: { running: {} }, ...members };
}

export function ready(name: string, members: Members = {}): ContainerStatusInput {
  return running(name, { ready: true, started: true, ...members });
}

export function waiting(name: string, members: Members = {}): ContainerStatusInput {
  return { name, state: { waiting: { reason: 'ContainerCreating' } }, ...members };
}

export function terminated(name: string, exitCode: number, members: Members = {}): ContainerStatusInput {
  return { name, state: { terminated: { exitCode } }, ...members };
}

/** Waiting for its next start after an exit. */
export function crashed(name: string, exitCode: number, members: Members = {}): ContainerStatusInput {
  return waiting(name, { lastState: { terminated: { exitCode } }, ...members });
}
