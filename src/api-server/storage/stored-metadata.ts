import isEqual from 'lodash/isEqual.js';
import { type FieldError, forbiddenValue, invalidValue } from '../../kube/validation/field-error.ts';
import type { StoredMetadata, StoredObject } from './objects.ts';

/** Decoded `metadata` of a request: only known fields, each of its type or absent. */
export type SentMetadata = { readonly [Field in keyof StoredMetadata]?: StoredMetadata[Field] | undefined };

/** Metadata without the fields that are not set. */
export function storedMetadata(metadata: SentMetadata): StoredMetadata {
  return Object.fromEntries(
    Object.entries(metadata).filter(([, value]) => value !== undefined),
  ) as unknown as StoredMetadata;
}

/** Immutable fields of `metadata`. */
export function validateMetadataUpdate(next: StoredObject, old: StoredObject): FieldError[] {
  const causes: FieldError[] = [];
  const { finalizers: before = [], deletionTimestamp } = old.metadata;
  const added = (next.metadata.finalizers ?? []).filter((finalizer) => !before.includes(finalizer));
  if (deletionTimestamp !== undefined && added.length > 0) {
    const because = `no new finalizers can be added if the object is being deleted, found new finalizers []string{${added.map((one) => JSON.stringify(one)).join(', ')}}`;
    causes.push(forbiddenValue('metadata.finalizers', because));
  }
  for (const field of ['uid', 'deletionTimestamp', 'deletionGracePeriodSeconds'] as const) {
    if (!isEqual(next.metadata[field], old.metadata[field])) {
      causes.push(invalidValue(`metadata.${field}`, next.metadata[field], 'field is immutable'));
    }
  }
  return causes;
}
