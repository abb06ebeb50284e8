import { refuseArgument } from '../errors.ts';
import type { CanonicalTime, ResourceList } from '../types.ts';
import { TimeSpeller } from './canonical-time.ts';
import { isObject, type Raw, setOwn } from './json.ts';
import { canonicalQuantity } from './quantity.ts';

/** Deeper than any status; a bound for hostile input. */
const maxDepth = 64;

/**
 * Where in the input we are, and how we read. Strict: what a caller sets; anything odd throws a
 * StatusManagerError that names the path. Lenient: what a server or a pod manager holds; an odd
 * scalar is kept as it came, what should be an object or a list and is none counts as absent.
 * One place moves through the whole input, so it is of no use any more once it has thrown.
 */
export class Place {
  readonly strict: boolean;
  readonly times: TimeSpeller;
  readonly #path: (string | number)[];

  constructor(strict: boolean, name: string, times = new TimeSpeller()) {
    this.strict = strict;
    this.times = times;
    this.#path = [name];
  }

  enter(member: string | number): void {
    this.#path.push(member);
  }

  leave(): void {
    this.#path.pop();
  }

  /** Throws: the value at `member` below this place is not what it should be. */
  refuse(member: string, expected: string, value: unknown): never {
    const path = [...this.#path, ...(member === '' ? [] : [member])].reduce<string>(join, '');
    refuseArgument(path, expected, value);
  }
}

function join(path: string, member: string | number): string {
  if (typeof member === 'number') return `${path}[${member}]`;
  return path === '' ? member : `${path}.${member}`;
}

/** What `read` makes of the object at `member`; undefined when absent or null. */
export function objectAt<T>(
  value: unknown,
  member: string,
  place: Place,
  read: (raw: Raw, place: Place) => T,
): T | undefined {
  if (value === undefined || value === null) return undefined;
  if (!isObject(value)) return place.strict ? place.refuse(member, 'an object', value) : undefined;
  place.enter(member);
  const object = read(value, place);
  place.leave();
  return object;
}

/** Without half a character (a lone surrogate), which UTF-8 cannot carry: the API server would show another text. */
export function stringAt(value: unknown, member: string, place: Place): string {
  if (typeof value === 'string') return value.toWellFormed();
  if (value === undefined || value === null) return '';
  return place.strict ? place.refuse(member, 'a string', value) : (oddValue(value, place, member) as string);
}

/** As `stringAt`, for members without which an entry has no identity. */
export function requiredStringAt(value: unknown, member: string, place: Place): string {
  const text = stringAt(value, member, place);
  if (text === '' && place.strict) place.refuse(member, 'a non-empty string', value);
  return text;
}

export function booleanAt(value: unknown, member: string, place: Place): boolean {
  if (typeof value === 'boolean') return value;
  if (value === undefined || value === null) return false;
  return place.strict ? place.refuse(member, 'a boolean', value) : (oddValue(value, place, member) as boolean);
}

export function int32At(value: unknown, member: string, place: Place): number {
  return integerAt(value, member, place, -0x8000_0000, 0x7fff_ffff);
}

/** Divergence: Go's int64 goes beyond the whole numbers that JavaScript can tell apart. */
export function int64At(value: unknown, member: string, place: Place): number {
  return integerAt(value, member, place, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
}

function integerAt(value: unknown, member: string, place: Place, min: number, max: number): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value;
  if (value === undefined || value === null) return 0;
  return place.strict
    ? place.refuse(member, `an integer between ${min} and ${max}`, value)
    : (oddValue(value, place, member) as number);
}

export function timeAt(value: unknown, member: string, place: Place): CanonicalTime {
  const time = place.times.spell(value);
  if (time !== undefined) return time;
  return place.strict
    ? place.refuse(member, 'a Date or an RFC 3339 time with seconds and zone', value)
    : (oddValue(value, place, member) as CanonicalTime);
}

export function quantityAt(value: unknown, member: string, place: Place): string | null {
  if (value === undefined || value === null) return null;
  const quantity = typeof value === 'string' || typeof value === 'number' ? canonicalQuantity(value) : undefined;
  if (quantity !== undefined) return quantity;
  return place.strict ? place.refuse(member, 'a quantity', value) : (oddValue(value, place, member) as string);
}

/** The map of quantities at `member`; undefined when absent or empty. */
export function resourceListAt(value: unknown, member: string, place: Place): ResourceList | undefined {
  return objectAt(value, member, place, canonicalResourceList);
}

function canonicalResourceList(raw: Raw, place: Place): ResourceList | undefined {
  let list: ResourceList | undefined;
  for (const name of Object.keys(raw)) {
    list ??= {};
    // Go's decoder reads a null quantity as zero.
    setOwn(list, name, quantityAt(raw[name], name, place) ?? '0');
  }
  return list;
}

/** The list at `member`, each element read by `read`; undefined when absent or empty. */
export function listAt<T>(
  value: unknown,
  member: string,
  place: Place,
  read: (element: Raw, place: Place) => T,
): T[] | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value)) return place.strict ? place.refuse(member, 'a list', value) : undefined;
  const length = value.length;
  if (length === 0) return undefined;
  place.enter(member);
  // A copy to overwrite: what is pushed to an empty list would be cached with room for 17.
  const list = [...value] as T[];
  let kept = 0;
  for (let i = 0; i < length; i++) {
    const element: unknown = value[i];
    place.enter(i);
    if (isObject(element)) list[kept++] = read(element, place);
    else if (place.strict) place.refuse('', 'an object', element);
    place.leave();
  }
  place.leave();
  if (kept < length) list.length = kept;
  return kept === 0 ? undefined : list;
}

/** A list of scalars at `member`; undefined when absent or empty. */
export function scalarListAt<T extends string | number>(
  value: unknown,
  member: string,
  place: Place,
  read: (value: unknown, member: string, place: Place) => T,
): T[] | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value)) return place.strict ? place.refuse(member, 'a list', value) : undefined;
  if (value.length === 0) return undefined;
  place.enter(member);
  const list = Array.from(value, (element, i) => {
    place.enter(i);
    const scalar = read(element, '', place);
    place.leave();
    return scalar;
  });
  place.leave();
  return list;
}

/**
 * Of the entries with the same key only the last stays, at the place of the first. A server's
 * list is left as it is. Divergence: the kubelet takes both, and goes by the first here, the last there.
 */
export function lastOfEachKey<T>(list: T[] | undefined, key: keyof T, place: Place): T[] | undefined {
  if (list === undefined || list.length === 1 || !place.strict || !hasDuplicate(list, key)) return list;
  const byKey = new Map<unknown, T>();
  for (const entry of list) byKey.set(entry[key], entry);
  return [...byKey.values()];
}

function hasDuplicate<T>(list: readonly T[], key: keyof T): boolean {
  const keys = list.map((entry) => entry[key]);
  // A list of conditions is too short to be worth a Set.
  if (keys.length > 16) return new Set(keys).size < keys.length;
  for (let i = 1; i < keys.length; i++) if (keys.indexOf(keys[i]!) < i) return true;
  return false;
}

/**
 * Copies the members that `known` does not name into `target`, as they came. Divergence: the
 * kubelet's structs have no place for a member that is newer than they are, and lose it.
 */
export function keepUnknownMembers(target: object, raw: Raw, known: ReadonlySet<string>, place: Place): void {
  for (const member in raw) {
    if (!known.has(member) && Object.hasOwn(raw, member)) {
      const value = cloneJSON(raw[member], place, member, 0);
      if (value !== undefined) setOwn(target, member, value);
    }
  }
}

/** What a server has in the place of a scalar, as it came; a copy, for it may be an object of somebody else. */
function oddValue(value: unknown, place: Place, member: string): unknown {
  return cloneJSON(value, place, member, 0) ?? null;
}

function cloneJSON(value: unknown, place: Place, member: string, depth: number): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (value === null || typeof value === 'boolean' || value === undefined) return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (depth > maxDepth)
    return place.strict ? place.refuse(member, `nested at most ${maxDepth} levels deep`, value) : undefined;
  if (Array.isArray(value)) return value.map((element) => cloneJSON(element, place, member, depth + 1) ?? null);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toJSON();
  if (typeof value === 'object') {
    const clone = {};
    for (const [name, inner] of Object.entries(value)) {
      const innerClone = cloneJSON(inner, place, member, depth + 1);
      if (innerClone !== undefined) setOwn(clone, name, innerClone);
    }
    return clone;
  }
  return place.strict ? place.refuse(member, 'a JSON value', value) : undefined;
}
