import { isObject, type Raw } from '../../shared/json.ts';
import type { Pod } from '../../kube/objects/types.ts';
import { StatusManagerError } from '../../shared/errors.ts';
import type { RuntimeContainerState, RuntimePodStatus } from './runtime-pod-status.ts';

type Check = readonly [expected: string, isValid: (value: unknown) => boolean];

const object: Check = ['an object', isObject];
const text: Check = ['a string', (value) => typeof value === 'string'];
const states: ReadonlySet<unknown> = new Set<RuntimeContainerState>(['created', 'running', 'exited', 'unknown']);
const sandboxFields: Readonly<Record<string, Check>> = {
  id: text,
  ready: ['a boolean', (value) => typeof value === 'boolean'],
};
const containerFields: Readonly<Record<string, Check>> = {
  id: text,
  name: text,
  state: ['created, running, exited or unknown', (value) => states.has(value)],
  createdAtMs: ['milliseconds since the epoch', Number.isFinite],
};

/**
 * Validates what a runtime returned before it is used.
 * @throws StatusManagerError INVALID_ARGUMENT; `path` names the field
 */
export function requireRuntimeStatus(pod: Pod, runtimeStatus: RuntimePodStatus): void {
  requireThat(pod, 'pod', object);
  requireThat(runtimeStatus, 'runtimeStatus', object);
  requireList(runtimeStatus.sandboxes, 'runtimeStatus.sandboxes', sandboxFields);
  requireList(runtimeStatus.containers, 'runtimeStatus.containers', containerFields);
}

function requireList(list: readonly object[], path: string, fields: Readonly<Record<string, Check>>): void {
  requireThat(list, path, ['a list', Array.isArray]);
  for (const [i, element] of list.entries()) {
    requireThat(element, `${path}[${i}]`, object);
    for (const [name, check] of Object.entries(fields))
      requireThat((element as Raw)[name], `${path}[${i}].${name}`, check);
  }
}

function requireThat(value: unknown, path: string, [expected, isValid]: Check): void {
  if (isValid(value)) return;
  const got = typeof value === 'string' ? `\`${value.slice(0, 40)}\`` : value === null ? 'null' : typeof value;
  throw new StatusManagerError('INVALID_ARGUMENT', `Expected \`${path}\` to be ${expected}, got ${got}`, { path });
}
