/** Parsed JSON that has not been validated. */
export interface JSONObject {
  [member: string]: unknown;
}

export function isJSONObject(value: unknown): value is JSONObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object at `member`, or an empty one. */
export function objectOf(parent: JSONObject, member: string): JSONObject {
  const value = Object.hasOwn(parent, member) ? parent[member] : undefined;
  return isJSONObject(value) ? value : {};
}

/** The objects of the list at `member`; empty if it is not a list. */
export function objectsOf(parent: JSONObject, member: string): JSONObject[] {
  const value = Object.hasOwn(parent, member) ? parent[member] : undefined;
  return Array.isArray(value) ? value.filter(isJSONObject) : [];
}

/** The string at `member`, or `''`. */
export function stringOf(parent: JSONObject, member: string): string {
  const value = Object.hasOwn(parent, member) ? parent[member] : undefined;
  return typeof value === 'string' ? value : '';
}

export function numberOf(parent: JSONObject, member: string): number {
  const value = Object.hasOwn(parent, member) ? parent[member] : undefined;
  return typeof value === 'number' ? value : 0;
}
