/** A JSON object whose members are not known yet. */
export interface Raw {
  readonly [member: string]: unknown;
}

export function isObject(value: unknown): value is Raw {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

/** The object's own member; ignores inherited ones such as `constructor`. */
export function ownMember(object: Raw, member: string): unknown {
  return Object.hasOwn(object, member) ? object[member] : undefined;
}

/** Assigns an own member of any name, including `__proto__`. */
export function setOwn(target: object, member: string, value: unknown): void {
  if (member === '__proto__')
    Object.defineProperty(target, member, { value, enumerable: true, configurable: true, writable: true });
  else (target as Record<string, unknown>)[member] = value;
}

/** The parsed value; undefined when the text is not JSON. */
export function parseJSON(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
