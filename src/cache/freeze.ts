/**
 * Freezes a value that is handed out, all the way down, and returns it. A frozen object is taken
 * to be frozen below, too, so that handing out the same status again costs nothing.
 */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const member of Object.values(value)) deepFreeze(member);
  return value;
}
