import isEqual from 'lodash/isEqual.js';
import { forbiddenValue, invalidValue, requiredValue, type StatusCause } from './api-status.ts';
import type { StoredMetadata, StoredObject } from './objects.ts';

/** `metadata` as a client sent it: known members only, each of its type or absent. */
export type SentMetadata = { readonly [Member in keyof StoredMetadata]?: StoredMetadata[Member] | undefined };

const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const label = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const namePart = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;

const subdomainRule =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
const namePartRule =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";

/** Metadata without the members that are not set. */
export function storedMetadata(metadata: SentMetadata): StoredMetadata {
  return Object.fromEntries(
    Object.entries(metadata).filter(([, value]) => value !== undefined),
  ) as unknown as StoredMetadata;
}

/** What is wrong with an object's metadata, be it new or changed. */
export function validateMetadata(metadata: StoredMetadata): StatusCause[] {
  const causes: StatusCause[] = [];
  if (metadata.name === '') causes.push(requiredValue('metadata.name', 'name or generateName is required'));
  else if (!isSubdomain(metadata.name)) causes.push(invalidValue('metadata.name', metadata.name, subdomainRule));
  for (const [key, value] of Object.entries(metadata.labels ?? {})) {
    causes.push(...validateQualifiedName(key, 'metadata.labels'));
    if (value !== '' && (!namePart.test(value) || value.length > 63)) {
      causes.push(invalidValue('metadata.labels', value, 'a valid label must be an empty string or a name part'));
    }
  }
  for (const key of Object.keys(metadata.annotations ?? {})) {
    causes.push(...validateQualifiedName(key.toLowerCase(), 'metadata.annotations'));
  }
  for (const [i, finalizer] of (metadata.finalizers ?? []).entries()) {
    causes.push(...validateQualifiedName(finalizer, 'metadata.finalizers'));
    if (!finalizer.includes('/') && !['orphan', 'foregroundDeletion', 'kubernetes'].includes(finalizer)) {
      const because = 'name is neither a standard finalizer name nor is it fully qualified';
      causes.push(invalidValue(`metadata.finalizers[${i}]`, finalizer, because));
    }
  }
  return causes;
}

/** `name` or `prefix/name`, as keys of labels and types of conditions are. */
export function validateQualifiedName(text: string, field: string): StatusCause[] {
  const parts = text.split('/');
  const name = parts.at(-1) ?? '';
  const causes: StatusCause[] = [];
  if (parts.length > 2) return [invalidValue(field, text, 'a qualified name must have at most one prefix')];
  if (parts.length === 2 && !isSubdomain(parts[0] ?? ''))
    causes.push(invalidValue(field, text, `prefix part ${subdomainRule}`));
  if (name === '') causes.push(invalidValue(field, text, 'name part must be non-empty'));
  if (name.length > 63) causes.push(invalidValue(field, text, 'name part must be no more than 63 bytes'));
  if (!namePart.test(name)) causes.push(invalidValue(field, text, namePartRule));
  return causes;
}

/** What an update may not change. */
export function validateMetadataUpdate(next: StoredObject, old: StoredObject): StatusCause[] {
  const causes: StatusCause[] = [];
  const { finalizers: before = [], deletionTimestamp } = old.metadata;
  const added = (next.metadata.finalizers ?? []).filter((finalizer) => !before.includes(finalizer));
  if (deletionTimestamp !== undefined && added.length > 0) {
    const because = `no new finalizers can be added if the object is being deleted, found new finalizers []string{${added.map((one) => JSON.stringify(one)).join(', ')}}`;
    causes.push(forbiddenValue('metadata.finalizers', because));
  }
  for (const member of ['uid', 'creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds'] as const) {
    if (!isEqual(next.metadata[member], old.metadata[member])) {
      causes.push(invalidValue(`metadata.${member}`, next.metadata[member], 'field is immutable'));
    }
  }
  return causes;
}

export function isSubdomain(text: string): boolean {
  return text.length <= 253 && subdomain.test(text);
}

/** A name that is one label of a domain name, as containers have. */
export function isDomainLabel(text: string): boolean {
  return text.length <= 63 && label.test(text);
}
