import { StatusManagerError } from '../shared/errors.ts';

/** @throws StatusManagerError INVALID_OPTION; `path` names the option. The value is omitted because it may contain secrets. */
export function refuseOption(path: string, expected: string): never {
  throw new StatusManagerError('INVALID_OPTION', `Expected \`${path}\` to be ${expected}`, { path });
}

/** @throws StatusManagerError INVALID_OPTION unless `value` is an object that has no members except `members` */
export function requireMembers(path: string, value: unknown, members: readonly string[]): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) refuseOption(path, 'an object');
  for (const name of Object.keys(value))
    if (!members.includes(name)) refuseOption(`${path}.${name}`, `absent: ${path} has ${members.join(', ')}`);
}

/** @throws StatusManagerError INVALID_OPTION unless `port` has these methods; optional ones may be absent */
export function requireMethods(
  path: string,
  port: unknown,
  methods: readonly string[],
  optional: readonly string[] = [],
): void {
  if (typeof port !== 'object' || port === null) refuseOption(path, `an object with the methods ${methods.join(', ')}`);
  const members = port as Readonly<Record<string, unknown>>;
  for (const name of methods) if (typeof members[name] !== 'function') refuseOption(`${path}.${name}`, 'a function');
  for (const name of optional)
    if (members[name] !== undefined && typeof members[name] !== 'function')
      refuseOption(`${path}.${name}`, 'a function or absent');
}

/** @throws StatusManagerError INVALID_OPTION */
export function requireFunction(path: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'function') refuseOption(path, 'a function');
}

/** @throws StatusManagerError INVALID_OPTION */
export function requireBoolean(path: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'boolean') refuseOption(path, 'a boolean');
}

/** @throws StatusManagerError INVALID_OPTION unless `ms` is positive, or undefined */
export function requireDuration(path: string, ms: number | undefined): void {
  if (ms === undefined || (typeof ms === 'number' && ms > 0 && ms < Number.POSITIVE_INFINITY)) return;
  throw new StatusManagerError('INVALID_OPTION', `Expected \`${path}\` to be milliseconds > 0, got ${String(ms)}`, {
    path,
  });
}
