import isEqual from 'lodash/isEqual.js';
import { forbiddenValue, invalidValue, requiredValue, type StatusCause } from './api-status.ts';
import type { StoredMetadata, StoredObject } from './objects.ts';
import { tooLong, validateLabels, validateQualifiedName, validateSubdomain } from './validation.ts';

/** `metadata` as a client sent it: known members only, each of its type or absent. */
export type SentMetadata = { readonly [Member in keyof StoredMetadata]?: StoredMetadata[Member] | undefined };

const maxAnnotationsBytes = 256 * 1024;

/** Metadata without the members that are not set. */
export function storedMetadata(metadata: SentMetadata): StoredMetadata {
  return Object.fromEntries(
    Object.entries(metadata).filter(([, value]) => value !== undefined),
  ) as unknown as StoredMetadata;
}

/** What is wrong with an object's metadata, be it new or changed. Source: `ValidateObjectMeta`. */
export function validateMetadata(
  metadata: StoredMetadata,
  validateName: (name: string, field: string) => StatusCause[] = validateSubdomain,
): StatusCause[] {
  const causes: StatusCause[] = [];
  const { name, generateName, labels = {}, annotations = {} } = metadata;
  if (generateName !== undefined) {
    // What is generated follows the prefix, so that it may end with a hyphen.
    const field = 'metadata.generateName';
    const problems = validateName(generateName.replace(/-$/, 'a'), field);
    causes.push(...problems.map(() => validateName(generateName, field)[0]!));
  }
  if (name === '') causes.push(requiredValue('metadata.name', 'name or generateName is required'));
  else causes.push(...validateName(name, 'metadata.name'));
  causes.push(...validateLabels(labels, 'metadata.labels'));
  let bytes = 0;
  for (const [key, value] of Object.entries(annotations)) {
    causes.push(...validateQualifiedName(key.toLowerCase(), 'metadata.annotations'));
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (bytes > maxAnnotationsBytes) causes.push(tooLong('metadata.annotations', maxAnnotationsBytes));
  return [...causes, ...validateFinalizers(metadata), ...validateOwners(metadata)];
}

function validateFinalizers({ finalizers = [] }: StoredMetadata): StatusCause[] {
  const causes = finalizers.flatMap((finalizer, i) => {
    const causesOfName = validateQualifiedName(finalizer, 'metadata.finalizers');
    if (finalizer.includes('/') || ['orphan', 'foregroundDeletion', 'kubernetes'].includes(finalizer)) {
      return causesOfName;
    }
    const because = 'name is neither a standard finalizer name nor is it fully qualified';
    return [...causesOfName, invalidValue(`metadata.finalizers[${i}]`, finalizer, because)];
  });
  if (finalizers.includes('orphan') && finalizers.includes('foregroundDeletion')) {
    const because = 'finalizer orphan and foregroundDeletion cannot be both set';
    causes.push(invalidValue('metadata.finalizers', finalizers, because));
  }
  return causes;
}

function validateOwners({ ownerReferences = [] }: StoredMetadata): StatusCause[] {
  const causes = ownerReferences.flatMap((owner, i) => {
    const field = `metadata.ownerReferences[${i}]`;
    const causesOfOwner = (['apiVersion', 'kind', 'name', 'uid'] as const)
      .filter((member) => owner[member] === '')
      .map((member) => requiredValue(`${field}.${member}`, 'must not be empty'));
    if (owner.apiVersion === 'v1' && owner.kind === 'Event') {
      causesOfOwner.push(invalidValue(field, owner, '/v1, Kind=Event is disallowed from being an owner'));
    }
    return causesOfOwner;
  });
  const controllers = ownerReferences.filter(({ controller }) => controller === true);
  if (controllers.length > 1) {
    const because = 'Only one reference can have Controller set to true';
    causes.push(invalidValue('metadata.ownerReferences', ownerReferences, because));
  }
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
  for (const member of ['uid', 'deletionTimestamp', 'deletionGracePeriodSeconds'] as const) {
    if (!isEqual(next.metadata[member], old.metadata[member])) {
      causes.push(invalidValue(`metadata.${member}`, next.metadata[member], 'field is immutable'));
    }
  }
  return causes;
}
