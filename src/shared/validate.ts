import type { AbortSignalLike } from './abort.ts';
import { refuseArgument, requireObject } from './errors.ts';

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
export function requireDeadlineMs(value: unknown): asserts value is number {
  if (!Number.isSafeInteger(value) || (value as number) < 0 || (value as number) > maxDurationMs)
    refuseArgument('deadlineMs', `an integer between 0 and ${maxDurationMs}`, value);
}

export function requireOneOf(path: string, value: unknown, allowed: readonly string[]): void {
  if (!allowed.includes(value as string))
    refuseArgument(path, `one of ${allowed.map((word) => `'${word}'`).join(', ')}`, value);
}

/** The `signal` of options that have been passed by a caller. */
export function requireSignal(options: { readonly signal?: AbortSignalLike | undefined }): AbortSignalLike | undefined {
  requireObject('options', options);
  const { signal } = options;
  if (signal !== undefined && typeof (signal as Partial<AbortSignalLike> | null)?.addEventListener !== 'function')
    refuseArgument('signal', 'an AbortSignal', signal);
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
