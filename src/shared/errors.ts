/** Why the library throws. */
export type StatusManagerErrorCode =
  /** An argument is invalid; `path` names the field. */
  | 'INVALID_ARGUMENT'
  /** A constructor option is out of range; `path` names the option. */
  | 'INVALID_OPTION'
  /** The call is not possible in the current state, for example `start()` after `stop()`. */
  | 'INVALID_STATE'
  /** The content of the allocation checkpoint is corrupt. */
  | 'CORRUPT_CHECKPOINT'
  /** The allocation checkpoint cannot be read: no permission, not a regular file, or a disk error. */
  | 'CHECKPOINT_READ_FAILED'
  /** The allocation checkpoint cannot be written. */
  | 'CHECKPOINT_WRITE_FAILED'
  /** The directory or file of the journal cannot be used. */
  | 'JOURNAL_UNUSABLE'
  /** Another process, which has started earlier, runs the same node. */
  | 'NODE_IN_USE';

export interface StatusManagerErrorOptions extends ErrorOptions {
  path?: string;
}

/**
 * The only error class that the public functions and methods throw; `code` is stable, the message is not.
 *
 * @example
 * ```ts
 * import { StatusManagerError } from 'kubelet-status-manager';
 *
 * try {
 *   manager.setPodStatus(pod, { phase: 'Runing' });
 * } catch (error) {
 *   if (!(error instanceof StatusManagerError)) throw error;
 *   console.error(error.code, error.path); // INVALID_ARGUMENT status.phase
 * }
 * ```
 */
export class StatusManagerError extends Error {
  override readonly name = 'StatusManagerError';
  readonly code: StatusManagerErrorCode;
  /** The invalid field, for example `status.conditions[2].type`; empty when no single field is at fault. */
  readonly path: string;

  constructor(code: StatusManagerErrorCode, message: string, options: StatusManagerErrorOptions = {}) {
    super(message, options);
    this.code = code;
    this.path = options.path ?? '';
  }
}

/** Throws INVALID_ARGUMENT; `path` names the field, `expected` says what it must be. */
export function refuseArgument(path: string, expected: string, value: unknown): never {
  throw refusal('INVALID_ARGUMENT', path, expected, value);
}

/**
 * Throws INVALID_OPTION, like `refuseArgument`. Omit the value if it may be a secret or is not
 * informative.
 */
export function refuseOption(name: string, expected: string, ...value: readonly [value?: unknown]): never {
  throw refusal('INVALID_OPTION', name, expected, ...value);
}

/** @throws StatusManagerError INVALID_ARGUMENT for null, a list and anything else that is not an object */
export function requireObject(path: string, value: unknown): asserts value is object {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) refuseArgument(path, 'an object', value);
}

function refusal(
  code: StatusManagerErrorCode,
  path: string,
  expected: string,
  ...value: readonly [value?: unknown]
): StatusManagerError {
  const got = value.length === 0 ? '' : `, got ${describe(value[0])}`;
  return new StatusManagerError(code, `Expected \`${path}\` to be ${expected}${got}`, { path });
}

/** A short description of a value, which never contains a complete object. */
function describe(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === 'string') return `\`${value.length > 40 ? `${value.slice(0, 40)}…` : value}\` (string)`;
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint')
    return `${value} (${typeof value})`;
  return typeof value;
}
