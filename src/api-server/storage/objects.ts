import isEqual from 'lodash/isEqual.js';
import { type JSONObject, objectOf } from '../../kube/objects/json-object.ts';

export interface OwnerReferenceObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** `metadata` of a stored object. */
export interface StoredMetadata {
  readonly name: string;
  readonly generateName?: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation?: number;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: { readonly [name: string]: string };
  readonly annotations?: { readonly [name: string]: string };
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReferenceObject[];
}

/** A stored object. Never mutated: a write stores a new object that shares what it did not change. */
export interface StoredObject {
  readonly kind: string;
  readonly apiVersion: string;
  readonly metadata: StoredMetadata;
  readonly [field: string]: unknown;
}

/** Maximum depth; deeper objects are rejected before any recursion. */
const maxDepth = 500;

export function specOf(object: StoredObject): JSONObject {
  return objectOf(object, 'spec');
}

export function statusOf(object: StoredObject): JSONObject {
  return objectOf(object, 'status');
}

/** Whether two stored objects are equal except for their resourceVersion. */
export function isSameObject(a: StoredObject, b: StoredObject): boolean {
  return isEqual(withResourceVersion(a, ''), withResourceVersion(b, ''));
}

export function withResourceVersion(object: StoredObject, resourceVersion: string): StoredObject {
  return { ...object, metadata: { ...object.metadata, resourceVersion } };
}

export function isTooDeep(value: unknown, depth = 0): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (depth > maxDepth) return true;
  return Object.values(value).some((inner) => isTooDeep(inner, depth + 1));
}
