import { refuseOption } from './errors.ts';
import { requirePort } from './ports.ts';
import { maxDurationMs } from './validate.ts';

/** Checks the value of one option. @throws StatusManagerError INVALID_OPTION; `path` names the option */
export type OptionCheck = (path: string, value: unknown) => void;

/** The check of each option. The keys are the names of all options, so that a missing one does not compile. */
export type OptionChecks<Options> = { readonly [Name in keyof Options]-?: OptionCheck };

/**
 * Refuses an option without a check, and each value that its check refuses.
 * @param path of nested options: `node` for `node.labels`
 * @throws StatusManagerError INVALID_OPTION
 */
export function requireOptions<Options extends object>(
  options: Options,
  checks: OptionChecks<Options>,
  path = '',
): void {
  const what = path === '' ? 'options' : path;
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    refuseOption(what, 'an object', options);
  for (const name of Object.keys(options))
    if (!Object.hasOwn(checks, name))
      refuseOption(pathOf(path, name), `absent: ${what} has ${Object.keys(checks).toSorted().join(', ')}`);
  checkOptions(options, checks, path);
}

/** As `requireOptions`, for an object that may have other fields. */
export function checkOptions<Options extends object>(options: Options, checks: OptionChecks<Options>, path = ''): void {
  for (const [name, check] of Object.entries(checks) as [keyof Options & string, OptionCheck][])
    check(pathOf(path, name), options[name]);
}

function pathOf(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

/** Checked by the code that uses it. */
export const unchecked: OptionCheck = () => {};

/** @param expected completes "Expected `name` to be …" */
export function required(expected: string, isValid: (value: never) => boolean): OptionCheck {
  return (path, value) => {
    if (!isValid(value as never)) refuseOption(path, expected, value);
  };
}

/** As `required`, but the option may be undefined. */
export function optional(expected: string, isValid: (value: never) => boolean): OptionCheck {
  return ifSet(required(expected, isValid));
}

/** An object of nested options. */
export function nested<Options extends object>(checks: OptionChecks<Options>): OptionCheck {
  return ifSet((path, value) => requireOptions(value as Options, checks, path));
}

/** An object with these methods; it may also have the methods of `others`. */
export function port(methods: readonly string[], others: readonly string[] = []): OptionCheck {
  return ifSet(requiredPort(methods, others));
}

export function requiredPort(methods: readonly string[], others: readonly string[] = []): OptionCheck {
  return (path, value) => void requirePort(path, value as Record<string, unknown>, methods, others);
}

export function oneOf(...values: readonly string[]): OptionCheck {
  return optional(values.map((value) => `'${value}'`).join(' or '), (value) => values.includes(value));
}

export function integer(min: number, max = Number.MAX_SAFE_INTEGER): OptionCheck {
  const expected = max === Number.MAX_SAFE_INTEGER ? `an integer ≥ ${min}` : `an integer between ${min} and ${max}`;
  return optional(expected, (value: number) => Number.isSafeInteger(value) && value >= min && value <= max);
}

/** Counts something, or is a delay of a timer in milliseconds. */
export const positiveInteger = integer(1, maxDurationMs);

export const notNegative = optional('a number ≥ 0', (value) => typeof value === 'number' && value >= 0);
export const percentage = optional(
  'a number from 0 to 100',
  (value) => typeof value === 'number' && value >= 0 && value <= 100,
);

/** Milliseconds, of any length. */
export const duration = optional(
  'milliseconds > 0',
  (ms) => typeof ms === 'number' && ms > 0 && ms < Number.POSITIVE_INFINITY,
);

export const aBoolean = optional('a boolean', (value) => typeof value === 'boolean');
export const aFunction = optional('a function', (value) => typeof value === 'function');
export const anObject = optional(
  'an object',
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
);
export const aText = optional('a string', (value) => typeof value === 'string');
export const aPath = optional('a path', (value) => typeof value === 'string' && value !== '');
export const anAbsolutePath = optional(
  'an absolute path',
  (value) => typeof value === 'string' && (value as string).startsWith('/'),
);
export const aSignal = optional(
  'an AbortSignal',
  (value: Partial<AbortSignal> | null) => typeof value?.addEventListener === 'function',
);

function ifSet(check: OptionCheck): OptionCheck {
  return (path, value) => {
    if (value !== undefined) check(path, value);
  };
}
