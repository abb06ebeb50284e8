import { refuseArgument } from '../../shared/errors.ts';
import type { CanonicalTime, ResourceList } from '../../kube/objects/types.ts';
import { TimeFormatter } from '../../shared/time.ts';
import { isObject, type Raw, setOwn } from '../../shared/json.ts';
import { canonicalQuantity } from '../../kube/objects/quantity.ts';

/** Deeper than any status; a bound for hostile input. */
const maxDepth = 64;

/**
 * The position in the input, and how strictly it is read. Strict, for a caller's status: an invalid
 * value throws a StatusManagerError that names its path. Lenient, for an object of the API server or a
 * pod manager: an invalid scalar is kept unchanged, and where an object or a list is expected, any other
 * value counts as absent. One context moves through the complete input: do not reuse it after it has thrown.
 */
export class DecodeContext {
  readonly strict: boolean;
  /** Keep only the last of several list entries with the same key. */
  readonly unique: boolean;
  readonly times: TimeFormatter;
  readonly #path: (string | number)[];

  constructor(strict: boolean, name: string, times = new TimeFormatter(), unique = strict) {
    this.strict = strict;
    this.unique = unique;
    this.times = times;
    this.#path = [name];
  }

  enter(field: string | number): void {
    this.#path.push(field);
  }

  leave(): void {
    this.#path.pop();
  }

  /** Throws an error that says what was expected at `field`, relative to the current position. */
  refuse(field: string, expected: string, value: unknown): never {
    const path = [...this.#path, ...(field === '' ? [] : [field])].reduce<string>(join, '');
    refuseArgument(path, expected, value);
  }
}

function join(path: string, field: string | number): string {
  if (typeof field === 'number') return `${path}[${field}]`;
  return path === '' ? field : `${path}.${field}`;
}

/** The result of `read` for the object at `field`; undefined when absent or null. */
export function objectAt<T>(
  value: unknown,
  field: string,
  context: DecodeContext,
  read: (raw: Raw, context: DecodeContext) => T,
): T | undefined {
  if (value === undefined || value === null) return undefined;
  if (!isObject(value)) return context.strict ? context.refuse(field, 'an object', value) : undefined;
  context.enter(field);
  const object = read(value, context);
  context.leave();
  return object;
}

/** Lone surrogates are replaced: UTF-8 cannot encode them, so the API server would show another text. */
export function stringAt(value: unknown, field: string, context: DecodeContext): string {
  if (typeof value === 'string') return value.toWellFormed();
  if (value === undefined || value === null) return '';
  return context.strict ? context.refuse(field, 'a string', value) : (oddValue(value, context, field) as string);
}

/** Like `stringAt`, for fields that identify an entry. */
export function requiredStringAt(value: unknown, field: string, context: DecodeContext): string {
  const text = stringAt(value, field, context);
  if (text === '' && context.strict) context.refuse(field, 'a non-empty string', value);
  return text;
}

export function booleanAt(value: unknown, field: string, context: DecodeContext): boolean {
  if (typeof value === 'boolean') return value;
  if (value === undefined || value === null) return false;
  return context.strict ? context.refuse(field, 'a boolean', value) : (oddValue(value, context, field) as boolean);
}

export function int32At(value: unknown, field: string, context: DecodeContext): number {
  return integerAt(value, field, context, -0x8000_0000, 0x7fff_ffff);
}

/** Divergence: Go's int64 goes beyond the integers that JavaScript represents exactly. */
export function int64At(value: unknown, field: string, context: DecodeContext): number {
  return integerAt(value, field, context, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
}

function integerAt(value: unknown, field: string, context: DecodeContext, min: number, max: number): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value;
  if (value === undefined || value === null) return 0;
  return context.strict
    ? context.refuse(field, `an integer between ${min} and ${max}`, value)
    : (oddValue(value, context, field) as number);
}

export function timeAt(value: unknown, field: string, context: DecodeContext): CanonicalTime {
  const time = context.times.format(value);
  if (time !== undefined) return time;
  return context.strict
    ? context.refuse(field, 'a Date or an RFC 3339 time with seconds and zone', value)
    : (oddValue(value, context, field) as CanonicalTime);
}

export function quantityAt(value: unknown, field: string, context: DecodeContext): string | null {
  if (value === undefined || value === null) return null;
  const quantity = typeof value === 'string' || typeof value === 'number' ? canonicalQuantity(value) : undefined;
  if (quantity !== undefined) return quantity;
  return context.strict ? context.refuse(field, 'a quantity', value) : (oddValue(value, context, field) as string);
}

/** The map of quantities at `field`; undefined when absent or empty. */
export function resourceListAt(value: unknown, field: string, context: DecodeContext): ResourceList | undefined {
  return objectAt(value, field, context, canonicalResourceList);
}

function canonicalResourceList(raw: Raw, context: DecodeContext): ResourceList | undefined {
  let list: ResourceList | undefined;
  for (const name of Object.keys(raw)) {
    list ??= {};
    // Go's decoder reads a null quantity as zero.
    setOwn(list, name, quantityAt(raw[name], name, context) ?? '0');
  }
  return list;
}

/** The list at `field`, each element read by `read`; undefined when absent or empty. */
export function listAt<T>(
  value: unknown,
  field: string,
  context: DecodeContext,
  read: (element: Raw, context: DecodeContext) => T,
): T[] | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value)) return context.strict ? context.refuse(field, 'a list', value) : undefined;
  const length = value.length;
  if (length === 0) return undefined;
  context.enter(field);
  // Overwrites a copy, because a list that grows by `push` keeps space for 17 elements.
  const list = [...value] as T[];
  let kept = 0;
  for (let i = 0; i < length; i++) {
    const element: unknown = value[i];
    context.enter(i);
    if (isObject(element)) list[kept++] = read(element, context);
    else if (context.strict) context.refuse('', 'an object', element);
    context.leave();
  }
  context.leave();
  if (kept < length) list.length = kept;
  return kept === 0 ? undefined : list;
}

/** A list of scalars at `field`; undefined when absent or empty. */
export function scalarListAt<T extends string | number>(
  value: unknown,
  field: string,
  context: DecodeContext,
  read: (value: unknown, field: string, context: DecodeContext) => T,
): T[] | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value)) return context.strict ? context.refuse(field, 'a list', value) : undefined;
  if (value.length === 0) return undefined;
  context.enter(field);
  const list = Array.from(value, (element, i) => {
    context.enter(i);
    const scalar = read(element, '', context);
    context.leave();
    return scalar;
  });
  context.leave();
  return list;
}

/**
 * Keeps the last of several entries with the same key, at the position of the first. Divergence: the
 * kubelet keeps all of them, and uses the first in some places and the last in others.
 */
export function lastOfEachKey<T>(list: T[] | undefined, key: keyof T, context: DecodeContext): T[] | undefined {
  if (list === undefined || list.length === 1 || !context.unique || !hasDuplicate(list, key)) return list;
  const byKey = new Map<unknown, T>();
  for (const entry of list) byKey.set(entry[key], entry);
  return [...byKey.values()];
}

function hasDuplicate<T>(list: readonly T[], key: keyof T): boolean {
  const keys = list.map((entry) => entry[key]);
  // For short lists such as conditions, a Set is slower.
  if (keys.length > 16) return new Set(keys).size < keys.length;
  for (let i = 1; i < keys.length; i++) if (keys.indexOf(keys[i]!) < i) return true;
  return false;
}

/**
 * Copies the fields that are not in `known` to `target`, unchanged. Null fields are omitted at any
 * depth, as in Go; null list elements keep their position. Divergence: the kubelet's structs lose
 * fields that are newer than they are.
 */
export function keepUnknownFields(target: object, raw: Raw, known: ReadonlySet<string>, context: DecodeContext): void {
  for (const field in raw) {
    if (!known.has(field) && Object.hasOwn(raw, field)) {
      const value = cloneJSON(raw[field], context, field, 0);
      if (value !== undefined && value !== null) setOwn(target, field, value);
    }
  }
}

/**
 * A server's value where a scalar is expected, unchanged. Copied, because it may be an object that others
 * modify.
 */
function oddValue(value: unknown, context: DecodeContext, field: string): unknown {
  return cloneJSON(value, context, field, 0) ?? null;
}

function cloneJSON(value: unknown, context: DecodeContext, field: string, depth: number): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (value === null || typeof value === 'boolean' || value === undefined) return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (depth > maxDepth)
    return context.strict ? context.refuse(field, `nested at most ${maxDepth} levels deep`, value) : undefined;
  if (Array.isArray(value)) return value.map((element) => cloneJSON(element, context, field, depth + 1) ?? null);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toJSON();
  if (typeof value === 'object') {
    const clone = {};
    for (const [name, inner] of Object.entries(value)) {
      const innerClone = cloneJSON(inner, context, field, depth + 1);
      if (innerClone !== undefined && innerClone !== null) setOwn(clone, name, innerClone);
    }
    return clone;
  }
  return context.strict ? context.refuse(field, 'a JSON value', value) : undefined;
}
