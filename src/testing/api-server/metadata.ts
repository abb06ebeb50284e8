import isEqual from 'lodash/isEqual.js';
import { forbiddenValue, invalidValue, requiredValue, type StatusCause } from './api-status.ts';
import {
  decodeInteger,
  decodeObject,
  decodeObjects,
  decodeString,
  decodeStringMap,
  decodeStrings,
  decodeTime,
} from './decode.ts';
import type { JSONObject, OwnerReferenceObject, StoredMetadata, StoredObject } from './objects.ts';

/** `metadata` as a client sent it: known members only, each of its type or absent. */
export type SentMetadata = { readonly [Member in keyof StoredMetadata]?: StoredMetadata[Member] | undefined };

const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const label = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const namePart = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;

const subdomainRule =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
const namePartRule =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";

/** @throws DecodeError for a member of the wrong type */
export function decodeMetadata(object: JSONObject): SentMetadata {
  const raw = decodeObject(object, 'metadata', '') ?? {};
  const path = 'metadata';
  const generation = decodeInteger(raw, 'generation', path);
  const deletionTimestamp = decodeTime(raw, 'deletionTimestamp', path);
  const creationTimestamp = decodeTime(raw, 'creationTimestamp', path);
  const deletionGracePeriodSeconds = decodeInteger(raw, 'deletionGracePeriodSeconds', path);
  return {
    name: nonEmpty(decodeString(raw, 'name', path)),
    generateName: nonEmpty(decodeString(raw, 'generateName', path)),
    namespace: nonEmpty(decodeString(raw, 'namespace', path)),
    uid: nonEmpty(decodeString(raw, 'uid', path)),
    resourceVersion: nonEmpty(decodeString(raw, 'resourceVersion', path)),
    generation,
    creationTimestamp: creationTimestamp ?? undefined,
    deletionTimestamp: deletionTimestamp ?? undefined,
    deletionGracePeriodSeconds,
    labels: nonEmptyMap(decodeStringMap(raw, 'labels', path)),
    annotations: nonEmptyMap(decodeStringMap(raw, 'annotations', path)),
    finalizers: nonEmptyList(decodeStrings(raw, 'finalizers', path)),
    ownerReferences: nonEmptyList(decodeObjects(raw, 'ownerReferences', path)?.map(ownerReference)),
  };
}

function ownerReference(raw: JSONObject): OwnerReferenceObject {
  const path = 'metadata.ownerReferences';
  const reference: JSONObject = {};
  for (const member of ['apiVersion', 'kind', 'name', 'uid']) reference[member] = decodeString(raw, member, path) ?? '';
  for (const member of ['controller', 'blockOwnerDeletion']) {
    if (typeof raw[member] === 'boolean') reference[member] = raw[member];
  }
  return reference as unknown as OwnerReferenceObject;
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}

function nonEmptyMap<T extends object>(map: T | undefined): T | undefined {
  return map === undefined || Object.keys(map).length === 0 ? undefined : map;
}

function nonEmptyList<T>(list: readonly T[] | undefined): readonly T[] | undefined {
  return list === undefined || list.length === 0 ? undefined : list;
}

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
