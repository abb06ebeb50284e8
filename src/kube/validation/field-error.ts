/** A validation error of one field of an object. Source: `field.Error`. */
export interface FieldError {
  /** Of the API: `FieldValueInvalid`, `FieldValueRequired`, … */
  readonly reason: string;
  /** The path of the field: `spec.containers[0].image`. */
  readonly field: string;
  /** The message of kube-apiserver, with the value. */
  readonly message: string;
  /** The message without the value, which may be a secret: for logs. */
  readonly detail: string;
}

export function invalidValue(field: string, value: unknown, because: string): FieldError {
  return withValue('FieldValueInvalid', 'Invalid value', field, value, because);
}

export function requiredValue(field: string, because = ''): FieldError {
  const message = because === '' ? 'Required value' : `Required value: ${because}`;
  return { reason: 'FieldValueRequired', field, message, detail: message };
}

export function forbiddenValue(field: string, because: string): FieldError {
  const message = `Forbidden: ${because}`;
  return { reason: 'FieldValueForbidden', field, message, detail: message };
}

export function unsupportedValue(field: string, value: unknown, supported: readonly string[]): FieldError {
  const values = supported.map((text) => JSON.stringify(text)).join(', ');
  return withValue('FieldValueNotSupported', 'Unsupported value', field, value, `supported values: ${values}`);
}

export function duplicateValue(field: string, value: unknown): FieldError {
  return withValue('FieldValueDuplicate', 'Duplicate value', field, value);
}

export function notFoundValue(field: string, value: unknown, because = ''): FieldError {
  return withValue('FieldValueNotFound', 'Not found', field, value, because);
}

export function tooLong(field: string, maxBytes: number): FieldError {
  const message = `Too long: may not be more than ${maxBytes} bytes`;
  return { reason: 'FieldValueTooLong', field, message, detail: message };
}

export function tooMany(field: string, count: number, maxCount: number): FieldError {
  const message = `Too many: ${count}: must have at most ${maxCount} items`;
  return { reason: 'FieldValueTooMany', field, message, detail: message };
}

function withValue(reason: string, title: string, field: string, value: unknown, because = ''): FieldError {
  const suffix = because === '' ? '' : `: ${because}`;
  return { reason, field, message: `${title}: ${JSON.stringify(value)}${suffix}`, detail: `${title}${suffix}` };
}
