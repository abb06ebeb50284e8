import type { FieldError } from '../kube/validation/field-error.ts';

/** One entry of `details.causes`. */
export interface StatusCause {
  readonly reason: string;
  readonly message: string;
  readonly field: string;
}

interface StatusDetails {
  readonly name?: string | undefined;
  readonly group?: string | undefined;
  readonly kind?: string | undefined;
  readonly causes?: readonly Partial<StatusCause>[] | undefined;
  readonly retryAfterSeconds?: number;
}

/** The resource in `details` of a Status. */
export interface Subject {
  readonly group: string;
  readonly resource: string;
  readonly kind: string;
}

/** The response is a `Status` with status Failure. */
export class APIStatusError extends Error {
  override readonly name = 'APIStatusError';
  readonly code: number;
  readonly reason: string;
  readonly details: StatusDetails | undefined;

  constructor(code: number, reason: string, message: string, details?: StatusDetails) {
    super(message);
    this.code = code;
    this.reason = reason;
    this.details = details;
  }

  /** The `Status` object of the response. */
  body(): object {
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: this.message,
      reason: this.reason || undefined,
      details: this.details,
      code: this.code,
    };
  }
}

function qualified(subject: Subject): string {
  return subject.group === '' ? subject.resource : `${subject.resource}.${subject.group}`;
}

function detailsOf(subject: Subject, name: string): StatusDetails {
  return { name: name || undefined, group: subject.group || undefined, kind: subject.resource };
}

export function notFound(subject: Subject, name: string): APIStatusError {
  return new APIStatusError(404, 'NotFound', `${qualified(subject)} "${name}" not found`, detailsOf(subject, name));
}

export function unknownPath(): APIStatusError {
  return new APIStatusError(404, 'NotFound', 'the server could not find the requested resource', {});
}

export function alreadyExists(subject: Subject, name: string): APIStatusError {
  return new APIStatusError(
    409,
    'AlreadyExists',
    `${qualified(subject)} "${name}" already exists`,
    detailsOf(subject, name),
  );
}

export function conflict(subject: Subject, name: string, because: string): APIStatusError {
  const message = `Operation cannot be fulfilled on ${qualified(subject)} "${name}": ${because}`;
  return new APIStatusError(409, 'Conflict', message, detailsOf(subject, name));
}

export function modified(subject: Subject, name: string): APIStatusError {
  return conflict(
    subject,
    name,
    'the object has been modified; please apply your changes to the latest version and try again',
  );
}

export function badRequest(message: string): APIStatusError {
  return new APIStatusError(400, 'BadRequest', message);
}

/** @param name the object's name, or `''` for a list or a create that has none yet */
export function forbidden(
  subject: Subject,
  name: string,
  because: string,
  causes?: readonly Partial<StatusCause>[],
): APIStatusError {
  const object = name === '' ? qualified(subject) : `${qualified(subject)} "${name}"`;
  const details = { ...detailsOf(subject, name), causes };
  return new APIStatusError(403, 'Forbidden', `${object} is forbidden: ${because}`, details);
}

/** 422 with its causes. */
export function invalid(subject: Subject, name: string, errors: readonly FieldError[]): APIStatusError {
  const causes: readonly StatusCause[] = errors.map(({ reason, message, field }) => ({ reason, message, field }));
  const kind = subject.group === '' ? subject.kind : `${subject.kind}.${subject.group}`;
  const texts = causes.map((cause) => `${cause.field}: ${cause.message}`);
  const list = texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`;
  return new APIStatusError(422, 'Invalid', `${kind} "${name}" is invalid: ${list}`, {
    ...{ name: name || undefined, group: subject.group || undefined, kind: subject.kind || undefined },
    causes,
  });
}

/** 422 for request parameters, which Kubernetes treats as an object of its own. */
export function invalidOptions(kind: string, cause: FieldError): APIStatusError {
  return invalid({ group: 'meta.k8s.io', resource: '', kind }, '', [cause]);
}

/** 422 for a patch whose result is not a valid object of the kind. */
export function invalidPatch(because: string): APIStatusError {
  const cause = { reason: 'FieldValueInvalid', message: `Invalid value: ${because}`, field: 'patch' };
  return new APIStatusError(422, 'Invalid', ` "" is invalid: ${cause.field}: ${cause.message}`, { causes: [cause] });
}

export function methodNotAllowed(): APIStatusError {
  return new APIStatusError(
    405,
    'MethodNotAllowed',
    'the server does not allow this method on the requested resource',
    {},
  );
}

/** The resourceVersion of a watch or list has expired. */
export function expired(message: string): APIStatusError {
  return new APIStatusError(410, 'Expired', message);
}
