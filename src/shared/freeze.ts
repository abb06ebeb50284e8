/**
 * Freezes a value with all its fields, recursively, and returns it. The fields of an object that
 * is frozen already are skipped, so that freezing the same status again is cheap.
 */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const field of Object.values(value)) deepFreeze(field);
  return value;
}
