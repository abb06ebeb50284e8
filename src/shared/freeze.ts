/**
 * Freezes a value with all its members, recursively, and returns it. The members of an object that
 * is frozen already are skipped, so that freezing the same status again is cheap.
 */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const member of Object.values(value)) deepFreeze(member);
  return value;
}
