import { StatusManagerError } from './errors.ts';
import { describe, isObject, type Raw } from './status/canonical-reader.ts';
import type { Pod } from './types.ts';

/**
 * Checks what a pod must have for its status to be kept and sent; its status is read leniently
 * elsewhere. @throws StatusManagerError INVALID_ARGUMENT
 */
export function requirePod(pod: unknown): asserts pod is Pod {
  if (!isObject(pod)) refuse('pod', 'an object', pod);
  const { metadata, spec } = pod;
  if (!isObject(metadata)) refuse('pod.metadata', 'an object', metadata);
  requireText('pod.metadata.uid', metadata.uid);
  requireText('pod.metadata.name', metadata.name);
  requireText('pod.metadata.namespace', metadata.namespace);
  const { generation, annotations } = metadata;
  if (isSet(generation) && !Number.isSafeInteger(generation))
    refuse('pod.metadata.generation', 'an integer', generation);
  if (isSet(annotations) && !isObject(annotations)) refuse('pod.metadata.annotations', 'an object', annotations);
  if (!isSet(spec)) return;
  if (!isObject(spec)) refuse('pod.spec', 'an object', spec);
  for (const member of ['containers', 'initContainers', 'ephemeralContainers'] as const)
    requireContainers(spec, member);
}

export function requireText(path: string, value: unknown): asserts value is string {
  if (typeof value !== 'string' || value === '') refuse(path, 'a non-empty string', value);
}

export function requireString(path: string, value: unknown): asserts value is string {
  if (typeof value !== 'string') refuse(path, 'a string', value);
}

export function requireBoolean(path: string, value: unknown): asserts value is boolean {
  if (typeof value !== 'boolean') refuse(path, 'a boolean', value);
}

export function requireInteger(path: string, value: unknown): asserts value is number {
  if (!Number.isSafeInteger(value)) refuse(path, 'an integer', value);
}

export function requireOneOf(path: string, value: unknown, allowed: readonly string[]): void {
  if (!allowed.includes(value as string))
    refuse(path, `one of ${allowed.map((word) => `'${word}'`).join(', ')}`, value);
}

/** A set of pod UIDs from any iterable but a string. */
export function requireUIDs(path: string, value: unknown): ReadonlySet<string> {
  if (typeof value !== 'object' || value === null || !(Symbol.iterator in value))
    refuse(path, 'an iterable of pod UIDs', value);
  const uids = new Set<unknown>(value as Iterable<unknown>);
  for (const uid of uids) if (typeof uid !== 'string') refuse(path, 'an iterable of strings', uid);
  return uids as Set<string>;
}

export function refuse(path: string, expected: string, value: unknown): never {
  throw new StatusManagerError('INVALID_ARGUMENT', `Expected \`${path}\` to be ${expected}, got ${describe(value)}`, {
    path,
  });
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function requireContainers(spec: Raw, member: string): void {
  const containers = spec[member];
  if (!isSet(containers)) return;
  const path = `pod.spec.${member}`;
  if (!Array.isArray(containers)) refuse(path, 'a list', containers);
  for (let i = 0; i < containers.length; i++) {
    const container: unknown = containers[i];
    if (!isObject(container)) refuse(`${path}[${i}]`, 'an object', container);
    if (typeof container.name !== 'string') refuse(`${path}[${i}].name`, 'a string', container.name);
  }
}
