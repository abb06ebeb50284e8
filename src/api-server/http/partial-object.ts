import type { StoredObject } from '../storage/objects.ts';

const apiVersion = 'meta.k8s.io/v1';

/** An object reduced to the fields that all kinds have. */
export function partialObject({ metadata }: StoredObject): object {
  return { kind: 'PartialObjectMetadata', apiVersion, metadata };
}

export function partialObjectList(objects: readonly StoredObject[], metadata: object): object {
  return { kind: 'PartialObjectMetadataList', apiVersion, metadata, items: objects.map(partialObject) };
}
