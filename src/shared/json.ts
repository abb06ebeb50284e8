/** A JSON object whose fields are not known yet. */
export interface Raw {
  readonly [field: string]: unknown;
}

export function isObject(value: unknown): value is Raw {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

/** The object's own field; ignores inherited ones such as `constructor`. */
export function ownField(object: Raw, field: string): unknown {
  return Object.hasOwn(object, field) ? object[field] : undefined;
}

/** Assigns an own field of any name, including `__proto__`. */
export function setOwn(target: object, field: string, value: unknown): void {
  if (field === '__proto__')
    Object.defineProperty(target, field, { value, enumerable: true, configurable: true, writable: true });
  else (target as Record<string, unknown>)[field] = value;
}

/** The parsed value; undefined when the text is not JSON. */
export function parseJSON(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
