import { isDate, isMap, isProxy } from 'node:util/types';

/** More than a list of 500 pods with 100 containers each has. */
const maxValues = 2_000_000;
const maxTextLength = 64 * 1024 * 1024;
const maxDepth = 100;

/** Bounds of a copy. */
export interface PlainDataLimits {
  /** Of all objects, lists and values in them. Default: 2,000,000. */
  readonly maxValues?: number;
}

/**
 * A copy of a value from the caller's code as plain data: objects, lists, maps, dates, strings, numbers and booleans. Each
 * field is read once, here, so that a getter that throws, an object that changes and an object that is too large are found
 * before other code reads the value. The copy has the own enumerable fields and the getters of classes; functions and
 * symbols are left out.
 *
 * Time and memory are bounded by the limits, whatever the value is.
 * @throws Error that names the field, and never quotes a value
 */
export function plainCopy(
  value: unknown,
  path: string,
  { maxValues: limit = maxValues }: PlainDataLimits = {},
): unknown {
  return new PlainCopy(limit).of(value, path, 0);
}

class PlainCopy {
  readonly #limit: number;
  #valuesLeft: number;
  #textLeft = maxTextLength;

  constructor(limit: number) {
    this.#limit = limit;
    this.#valuesLeft = limit;
  }

  of(value: unknown, path: string, depth: number): unknown {
    this.#count(1, path);
    if (typeof value === 'string') {
      this.#textLeft -= value.length;
      if (this.#textLeft < 0)
        throw new Error(`\`${path}\` has more than ${maxTextLength} characters with what is before it`);
      return value;
    }
    if (typeof value === 'function' || typeof value === 'symbol') return undefined;
    if (typeof value !== 'object' || value === null) return value;
    if (depth === maxDepth) throw new Error(`\`${path}\` is nested more than ${maxDepth} levels deep`);
    if (isDate(value)) return structuredClone(value);
    if (isMap(value))
      return new Map(this.#list([...Map.prototype.entries.call(value)], path, depth) as [unknown, unknown][]);
    return Array.isArray(value) ? this.#list(value, path, depth) : this.#object(value, path, depth);
  }

  #list(list: readonly unknown[], path: string, depth: number): unknown[] {
    const length = read(list, 'length', path) as number;
    // Checked before the loop: a sparse array may have a length of four billion.
    this.#count(length, path);
    const copy: unknown[] = [];
    for (let i = 0; i < length; i += 1) copy.push(this.#field(list, i, path, depth));
    return copy;
  }

  #object(value: object, path: string, depth: number): Record<string, unknown> {
    const copy: Record<string, unknown> = {};
    const keys = keysOf(value, path);
    this.#count(keys.length, path);
    for (const key of keys) {
      const copied = this.#field(value, key, path, depth);
      if (copied === undefined) continue;
      // Assigning `__proto__` would set the prototype.
      if (key === '__proto__') Object.defineProperty(copy, key, { value: copied, enumerable: true });
      else copy[key] = copied;
    }
    return copy;
  }

  /** Makes a path only if something is wrong with the field, or may be inside it. */
  #field(owner: object, key: string | number, path: string, depth: number): unknown {
    const value = read(owner, key, path);
    if (isLeaf(value) || (typeof value === 'string' && this.#hasRoomFor(value))) return value;
    return this.of(value, typeof key === 'number' ? `${path}[${key}]` : `${path}.${key}`, depth + 1);
  }

  #hasRoomFor(text: string): boolean {
    this.#valuesLeft -= 1;
    this.#textLeft -= text.length;
    return this.#valuesLeft >= 0 && this.#textLeft >= 0;
  }

  #count(values: number, path: string): void {
    this.#valuesLeft -= values;
    if (this.#valuesLeft < 0) throw new Error(`\`${path}\` has more than ${this.#limit} values with what is before it`);
  }
}

function isLeaf(value: unknown): boolean {
  return typeof value === 'number' || typeof value === 'boolean' || value === undefined || value === null;
}

function read(owner: object, key: string | number, path: string): unknown {
  try {
    return (owner as Record<string | number, unknown>)[key];
  } catch {
    throw unreadable(`${path}[${JSON.stringify(key)}]`);
  }
}

function keysOf(value: object, path: string): string[] {
  try {
    return shownKeys(value);
  } catch {
    throw unreadable(path);
  }
}

function unreadable(path: string): Error {
  return new Error(`\`${path}\` cannot be read: it throws`);
}

/** The own fields that can be listed, and the getters of the classes of an object. */
function shownKeys(value: object): string[] {
  const keys = Object.keys(value);
  for (
    let prototype: unknown = Object.getPrototypeOf(value);
    typeof prototype === 'object' && prototype !== null && prototype !== Object.prototype && !isProxy(prototype);
    prototype = Object.getPrototypeOf(prototype)
  )
    for (const [key, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(prototype)))
      if (descriptor.get !== undefined && key !== '__proto__' && !Object.hasOwn(value, key)) keys.push(key);
  return keys;
}
