import { refuseArgument, refuseOption } from './errors.ts';
import { isObject, type Raw } from './status/json.ts';
import type { Pod } from './types.ts';

/** Node.js timers with a longer delay fire immediately. */
export const maxDurationMs = 2 ** 31 - 1;

/**
 * Checks what a pod must have for its status to be cached and sent. Its own status is not checked: it
 * is read leniently. @throws StatusManagerError INVALID_ARGUMENT
 */
export function requirePod(pod: unknown, path = 'pod'): asserts pod is Pod {
  if (!isObject(pod)) refuseArgument(path, 'an object', pod);
  const { metadata, spec } = pod;
  if (!isObject(metadata)) refuseArgument(`${path}.metadata`, 'an object', metadata);
  requireText(`${path}.metadata.uid`, metadata.uid);
  requireText(`${path}.metadata.name`, metadata.name);
  requireText(`${path}.metadata.namespace`, metadata.namespace);
  const { generation, annotations } = metadata;
  if (isSet(generation) && !Number.isSafeInteger(generation))
    refuseArgument(`${path}.metadata.generation`, 'an integer', generation);
  if (isSet(annotations) && !isObject(annotations))
    refuseArgument(`${path}.metadata.annotations`, 'an object', annotations);
  if (!isSet(spec)) return;
  if (!isObject(spec)) refuseArgument(`${path}.spec`, 'an object', spec);
  for (const member of ['containers', 'initContainers', 'ephemeralContainers'] as const)
    requireContainers(`${path}.spec.${member}`, spec[member]);
  requireObjects(`${path}.spec.readinessGates`, spec.readinessGates);
}

/** The pods of an iterable, each checked. */
export function requirePods(path: string, value: unknown): readonly Pod[] {
  requireIterable(path, value);
  return Array.from(value, (pod, i) => {
    requirePod(pod, `${path}[${i}]`);
    return pod;
  });
}

export function requireText(path: string, value: unknown): asserts value is string {
  if (typeof value !== 'string' || value === '') refuseArgument(path, 'a non-empty string', value);
}

export function requireString(path: string, value: unknown): asserts value is string {
  if (typeof value !== 'string') refuseArgument(path, 'a string', value);
}

export function requireBoolean(path: string, value: unknown): asserts value is boolean {
  if (typeof value !== 'boolean') refuseArgument(path, 'a boolean', value);
}

export function requireInteger(path: string, value: unknown): asserts value is number {
  if (!Number.isSafeInteger(value)) refuseArgument(path, 'an integer', value);
}

/** A delay that a timer supports. */
export function requireDurationMs(path: string, value: unknown): asserts value is number {
  if (!Number.isSafeInteger(value) || (value as number) < 0 || (value as number) > maxDurationMs)
    refuseArgument(path, `an integer between 0 and ${maxDurationMs}`, value);
}

export function requireOneOf(path: string, value: unknown, allowed: readonly string[]): void {
  if (!allowed.includes(value as string))
    refuseArgument(path, `one of ${allowed.map((word) => `'${word}'`).join(', ')}`, value);
}

/** Any iterable but a string. */
export function requireIterable(path: string, value: unknown): asserts value is Iterable<unknown> {
  if (typeof value !== 'object' || value === null || !(Symbol.iterator in value))
    refuseArgument(path, 'an iterable', value);
}

/** A set of pod UIDs from any iterable but a string. */
export function requireUIDs(path: string, value: unknown): ReadonlySet<string> {
  requireIterable(path, value);
  const uids = new Set<unknown>(value);
  for (const uid of uids) if (typeof uid !== 'string') refuseArgument(path, 'an iterable of strings', uid);
  return uids as Set<string>;
}

/** An option that counts something or is a time in milliseconds. @throws StatusManagerError INVALID_OPTION */
export function positiveIntegerOption(name: string, value: number): number {
  return integerOption(name, value, 1, maxDurationMs);
}

/** @throws StatusManagerError INVALID_OPTION */
export function integerOption(name: string, value: number, min: number, max: number): number {
  if (!Number.isInteger(value) || value < min || value > max)
    refuseOption(name, `an integer between ${min} and ${max}`, value);
  return value;
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function requireContainers(path: string, containers: unknown): void {
  for (const [i, { name, restartPolicyRules }] of requireObjects(path, containers).entries()) {
    if (typeof name !== 'string') refuseArgument(`${path}[${i}].name`, 'a string', name);
    if (isSet(restartPolicyRules)) requireRestartPolicyRules(`${path}[${i}].restartPolicyRules`, restartPolicyRules);
  }
}

function requireRestartPolicyRules(path: string, rules: unknown): void {
  for (const [i, { exitCodes }] of requireObjects(path, rules).entries()) {
    if (!isSet(exitCodes)) continue;
    if (!isObject(exitCodes)) refuseArgument(`${path}[${i}].exitCodes`, 'an object', exitCodes);
    const { values } = exitCodes;
    if (isSet(values) && !Array.isArray(values)) refuseArgument(`${path}[${i}].exitCodes.values`, 'a list', values);
  }
}

/** A list of objects; empty when absent. */
function requireObjects(path: string, list: unknown): readonly Raw[] {
  if (!isSet(list)) return [];
  if (!Array.isArray(list)) refuseArgument(path, 'a list', list);
  for (let i = 0; i < list.length; i++) if (!isObject(list[i])) refuseArgument(`${path}[${i}]`, 'an object', list[i]);
  return list as readonly Raw[];
}
