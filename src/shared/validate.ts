import type { AbortSignalLike } from './abort.ts';
import { refuseArgument, refuseOption, requireObject } from './errors.ts';

/** Node.js timers with a longer delay fire immediately. */
export const maxDurationMs = 2 ** 31 - 1;

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

/** The `signal` of options that have been passed by a caller. */
export function requireSignal(
  options: { readonly signal?: AbortSignalLike | undefined },
  refuse: typeof refuseArgument = refuseArgument,
): AbortSignalLike | undefined {
  requireObject('options', options);
  const { signal } = options;
  if (signal !== undefined && typeof (signal as Partial<AbortSignalLike> | null)?.addEventListener !== 'function')
    refuse('signal', 'an AbortSignal', signal);
  return signal;
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

/** Milliseconds > 0, of any length. @throws StatusManagerError INVALID_OPTION */
export function requireDurationOption(path: string, ms: number | undefined): void {
  if (ms === undefined || (typeof ms === 'number' && ms > 0 && ms < Number.POSITIVE_INFINITY)) return;
  refuseOption(path, 'milliseconds > 0', ms);
}

/** An object that has no fields except `fields`. @throws StatusManagerError INVALID_OPTION */
export function requireFields(path: string, value: unknown, fields: readonly string[]): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) refuseOption(path, 'an object', value);
  for (const name of Object.keys(value))
    if (!fields.includes(name)) refuseOption(`${path}.${name}`, `absent: ${path} has ${fields.join(', ')}`);
}

/** @throws StatusManagerError INVALID_OPTION */
export function requireFunctionOption(path: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'function') refuseOption(path, 'a function', value);
}

/** @throws StatusManagerError INVALID_OPTION */
export function requireBooleanOption(path: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'boolean') refuseOption(path, 'a boolean', value);
}
