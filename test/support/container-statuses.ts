import type { ContainerStatusInput } from '../../src/kube/objects/types.ts';

type Fields = Partial<ContainerStatusInput>;

export function running(name: string, fields: Fields = {}): ContainerStatusInput {
  return { name, state: { running: {} }, ...fields };
}

export function ready(name: string, fields: Fields = {}): ContainerStatusInput {
  return running(name, { ready: true, started: true, ...fields });
}

export function waiting(name: string, fields: Fields = {}): ContainerStatusInput {
  return { name, state: { waiting: { reason: 'ContainerCreating' } }, ...fields };
}

export function terminated(name: string, exitCode: number, fields: Fields = {}): ContainerStatusInput {
  return { name, state: { terminated: { exitCode } }, ...fields };
}

/** Waiting for its next start after an exit. */
export function crashed(name: string, exitCode: number, fields: Fields = {}): ContainerStatusInput {
  return waiting(name, { lastState: { terminated: { exitCode } }, ...fields });
}
