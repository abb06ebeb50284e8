/** Parsed JSON that has not been validated. */
export interface JSONObject {
  [field: string]: unknown;
}

export function isJSONObject(value: unknown): value is JSONObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object at `field`, or an empty one. */
export function objectOf(parent: JSONObject, field: string): JSONObject {
  const value = Object.hasOwn(parent, field) ? parent[field] : undefined;
  return isJSONObject(value) ? value : {};
}

/** The objects of the list at `field`; empty if it is not a list. */
export function objectsOf(parent: JSONObject, field: string): JSONObject[] {
  const value = Object.hasOwn(parent, field) ? parent[field] : undefined;
  return Array.isArray(value) ? value.filter(isJSONObject) : [];
}

/** The string at `field`, or `''`. */
export function stringOf(parent: JSONObject, field: string): string {
  const value = Object.hasOwn(parent, field) ? parent[field] : undefined;
  return typeof value === 'string' ? value : '';
}

export function numberOf(parent: JSONObject, field: string): number {
  const value = Object.hasOwn(parent, field) ? parent[field] : undefined;
  return typeof value === 'number' ? value : 0;
}
