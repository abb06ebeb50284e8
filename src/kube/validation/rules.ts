import { type FieldError, forbiddenValue, invalidValue, requiredValue, unsupportedValue } from './field-error.ts';
import type { JSONObject } from '../objects/json-object.ts';

/*
 * Rules shared by several kinds, with the messages of kube-apiserver.
 * Source: `k8s.io/apimachinery/pkg/util/validation`.
 */

const maxInt32 = 2 ** 31 - 1;
const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const label = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const namePart = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;

const subdomainRule =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const labelRule =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const namePartRule =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const labelValueRule =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

export function isSubdomain(text: string): boolean {
  return text.length <= 253 && subdomain.test(text);
}

export function validateSubdomain(text: string, field: string): FieldError[] {
  if (isSubdomain(text)) return [];
  return [invalidValue(field, text, text.length > 253 ? 'must be no more than 253 bytes' : subdomainRule)];
}

/** A DNS label, such as a container name. */
export function validateDomainLabel(text: string, field: string): FieldError[] {
  if (text.includes('.')) return [invalidValue(field, text, 'must not contain dots')];
  if (text.length > 63) return [invalidValue(field, text, 'must be no more than 63 bytes')];
  return label.test(text) ? [] : [invalidValue(field, text, labelRule)];
}

/** A qualified name, `name` or `prefix/name`, such as a label key or a condition type. */
export function validateQualifiedName(text: string, field: string): FieldError[] {
  const parts = text.split('/');
  const name = parts.at(-1) ?? '';
  const causes: FieldError[] = [];
  if (parts.length > 2) return [invalidValue(field, text, 'a qualified name must have at most one prefix')];
  if (parts.length === 2 && !isSubdomain(parts[0] ?? ''))
    causes.push(invalidValue(field, text, `prefix part ${subdomainRule}`));
  if (name === '') causes.push(invalidValue(field, text, 'name part must be non-empty'));
  if (name.length > 63) causes.push(invalidValue(field, text, 'name part must be no more than 63 bytes'));
  if (!namePart.test(name)) causes.push(invalidValue(field, text, namePartRule));
  return causes;
}

export function validateLabels(labels: { readonly [name: string]: unknown }, field: string): FieldError[] {
  return Object.entries(labels).flatMap(([key, value]) => [
    ...validateQualifiedName(key, field),
    ...labelValueProblems(String(value)).map((because) => invalidValue(field, value, because)),
  ]);
}

/** Validates a label value. */
export function labelValueProblems(value: string): string[] {
  if (value === '') return [];
  return [
    ...(value.length > 63 ? ['must be no more than 63 bytes'] : []),
    ...(namePart.test(value) ? [] : [labelValueRule]),
  ];
}

/** Required when it is empty, else one of the supported values. */
export function validateEnum(value: unknown, supported: readonly string[], field: string): FieldError[] {
  if (value === undefined || value === '') return [requiredValue(field)];
  return (supported as readonly unknown[]).includes(value) ? [] : [unsupportedValue(field, value, supported)];
}

export function validateRange(value: unknown, min: number, max: number, field: string): FieldError[] {
  if (value === undefined || (Number(value) >= min && Number(value) <= max)) return [];
  return [invalidValue(field, value, `must be between ${min} and ${max}, inclusive`)];
}

/** A user or group. */
export function validateID(value: unknown, field: string): FieldError[] {
  return validateRange(value, 0, maxInt32, field);
}

export function validateNotNegative(value: unknown, field: string): FieldError[] {
  if (value === undefined || Number(value) >= 0) return [];
  return [invalidValue(field, value, 'must be greater than or equal to 0')];
}

/** Requires these fields to be present and not empty. */
export function validateRequired(object: JSONObject, names: readonly string[], field: string): FieldError[] {
  return names
    .filter((name) => object[name] === undefined || object[name] === '' || object[name] === null)
    .map((name) => requiredValue(`${field}.${name}`));
}

/** A number, or the name of a port. */
export function validatePort(value: unknown, field: string): FieldError[] {
  if (typeof value !== 'string') return validateRange(value ?? 0, 1, 65_535, field);
  return portNameProblems(value).map((because) => invalidValue(field, value, because));
}

export function portNameProblems(name: string): string[] {
  return [
    ...(name.length > 15 ? ['must be no more than 15 characters'] : []),
    ...(/^[-a-z0-9]+$/.test(name) ? [] : ['must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)']),
    ...(/[a-z]/.test(name) ? [] : ['must contain at least one letter (a-z)']),
    ...(name.includes('--') ? ['must not contain consecutive hyphens'] : []),
    ...(/^-|-$/.test(name) ? ['must not begin or end with a hyphen'] : []),
  ];
}

/** A relative path without `..`. */
export function validateDescendingPath(path: string, field: string): FieldError[] {
  return [
    ...(path.startsWith('/') ? [invalidValue(field, path, 'must be a relative path')] : []),
    ...validateNoBackSteps(path, field),
  ];
}

export function validateNoBackSteps(path: string, field: string): FieldError[] {
  return path.split('/').includes('..') ? [invalidValue(field, path, "must not contain '..'")] : [];
}

/** Forbids fields that are set. */
export function forbidFields(
  object: JSONObject,
  names: readonly string[],
  field: string,
  because: string,
): FieldError[] {
  return names.filter((name) => object[name] !== undefined).map((name) => forbiddenValue(`${field}.${name}`, because));
}
