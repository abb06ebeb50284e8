import type { Pod } from '../../kube/objects/types.ts';
import { StatusManagerError } from '../../shared/errors.ts';
import type { RuntimeContainerState, RuntimePodStatus } from './runtime-pod-status.ts';

const states: ReadonlySet<unknown> = new Set<RuntimeContainerState>(['created', 'running', 'exited', 'unknown']);

/**
 * Validates what a runtime returned before it is used.
 * @throws StatusManagerError INVALID_ARGUMENT; `path` names the field
 */
export function requireRuntimeStatus(pod: Pod, runtimeStatus: RuntimePodStatus): void {
  requireThat(isObject(pod), 'pod', 'an object', pod);
  requireThat(isObject(runtimeStatus), 'runtimeStatus', 'an object', runtimeStatus);
  const { sandboxes, containers }: { sandboxes: unknown; containers: unknown } = runtimeStatus;
  requireThat(Array.isArray(sandboxes), 'runtimeStatus.sandboxes', 'a list', sandboxes);
  requireThat(Array.isArray(containers), 'runtimeStatus.containers', 'a list', containers);
  for (const [i, sandbox] of (sandboxes as unknown[]).entries()) {
    const path = `runtimeStatus.sandboxes[${i}]`;
    requireThat(isObject(sandbox), path, 'an object', sandbox);
    requireField(sandbox as object, path, 'id', 'a string', isString);
    requireField(sandbox as object, path, 'ready', 'a boolean', isBoolean);
  }
  for (const [i, container] of (containers as unknown[]).entries()) {
    const path = `runtimeStatus.containers[${i}]`;
    requireThat(isObject(container), path, 'an object', container);
    requireField(container as object, path, 'id', 'a string', isString);
    requireField(container as object, path, 'name', 'a string', isString);
    requireField(container as object, path, 'state', 'created, running, exited or unknown', isState);
    requireField(container as object, path, 'createdAtMs', 'milliseconds since the epoch', Number.isFinite);
  }
}

function requireField(
  owner: object,
  path: string,
  field: string,
  expected: string,
  isValid: (value: unknown) => boolean,
): void {
  const value = (owner as Readonly<Record<string, unknown>>)[field];
  requireThat(isValid(value), `${path}.${field}`, expected, value);
}

function requireThat(isValid: boolean, path: string, expected: string, value: unknown): void {
  if (isValid) return;
  const got = typeof value === 'string' ? `\`${value.slice(0, 40)}\`` : value === null ? 'null' : typeof value;
  throw new StatusManagerError('INVALID_ARGUMENT', `Expected \`${path}\` to be ${expected}, got ${got}`, { path });
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isString(value: unknown): boolean {
  return typeof value === 'string';
}

function isBoolean(value: unknown): boolean {
  return typeof value === 'boolean';
}

function isState(value: unknown): boolean {
  return states.has(value);
}
