/** Why the library throws. */
export type StatusManagerErrorCode =
  /** An argument is not what the method takes; `path` names the member. */
  | 'INVALID_ARGUMENT'
  /** A constructor option is out of range; `path` names the option. */
  | 'INVALID_OPTION'
  /** The call is not possible in the present state, for example `start()` after `stop()`. */
  | 'INVALID_STATE'
  /** The allocation checkpoint cannot be read or is corrupt. */
  | 'CORRUPT_CHECKPOINT'
  /** The allocation checkpoint cannot be written. */
  | 'CHECKPOINT_WRITE_FAILED'
  /** The directory or file of the journal cannot be used. */
  | 'JOURNAL_UNUSABLE';

export interface StatusManagerErrorOptions extends ErrorOptions {
  path?: string;
}

/** The one error class that this library throws at its public edge; `code` is stable, the text is not. */
export class StatusManagerError extends Error {
  override readonly name = 'StatusManagerError';
  readonly code: StatusManagerErrorCode;
  /** Where in the argument the fault is, for example `status.conditions[2].type`; empty when it is no one member. */
  readonly path: string;

  constructor(code: StatusManagerErrorCode, message: string, options: StatusManagerErrorOptions = {}) {
    super(message, options);
    this.code = code;
    this.path = options.path ?? '';
  }
}
