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

/** A field of what may be no JSON object. */
export function fieldOf(value: unknown, field: string): unknown {
  return isObject(value) ? value[field] : undefined;
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

/** Deep equality of two JSON values, for each event of a watch: lodash takes five times as long. */
export function isSameJSON(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const fields = Object.keys(a) as (keyof object)[];
  return (
    fields.length === Object.keys(b).length &&
    fields.every((field) => Object.hasOwn(b, field) && isSameJSON(a[field], b[field]))
  );
}
