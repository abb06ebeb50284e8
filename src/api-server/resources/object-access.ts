import type { JSONObject } from '../../kube/objects/json-object.ts';
import { badRequest } from '../api-status.ts';
import type { Target } from '../http/target.ts';
import { directRequest, type Registry, type Request } from '../registry.ts';
import type { ObjectStore } from '../storage/store.ts';
import { resourceNamed } from './resources.ts';
import type { SubresourceName } from './subresources.ts';

/** A Node or a Namespace as the server has it. */
export interface ClusterObject {
  readonly metadata: { readonly name: string; readonly uid: string; readonly [field: string]: unknown };
  readonly [field: string]: unknown;
}

/** An object with a namespace as the server has it. */
export interface NamespacedObject {
  readonly metadata: ClusterObject['metadata'] & { readonly namespace: string };
  readonly [field: string]: unknown;
}

/** How an object is deleted; the default is the grace period of a pod's spec. */
export interface ObjectDeletion {
  readonly gracePeriodSeconds?: number;
  readonly uid?: string;
}

/** A strategic merge patch of everything but the status; null removes a field. */
export interface ObjectPatch {
  readonly metadata?: object;
  readonly spec?: object;
  /** Use `patchStatus` for the status. */
  readonly status?: never;
}

/**
 * Reads and writes the objects of one resource without HTTP, as the admin. Admission, defaulting and validation are those
 * of an HTTP request, and a method throws the error of the response with `code`, `reason` and `details`. Returned objects
 * are copies.
 */
class ObjectAccess<T extends object> {
  readonly #resource: string;
  readonly #store: ObjectStore;
  readonly #registry: Registry;

  constructor(resource: string, store: ObjectStore, registry: Registry) {
    this.#resource = resource;
    this.#store = store;
    this.#registry = registry;
  }

  /** All objects of this resource. */
  list(): T[] {
    return this.#store.list(this.#resource, '').map((object) => throughJSON(object) as T);
  }

  protected createIn(namespace: string, object: object): T {
    const body = throughJSON(object) as JSONObject;
    return throughJSON(this.#registry.create(this.#target(namespace, ''), body, requestOf('create'))) as T;
  }

  protected find(namespace: string, name: string): T | undefined {
    const object = this.#store.get(this.#resource, namespace, name);
    return object === undefined ? undefined : (throughJSON(object) as T);
  }

  protected patchIn(subresource: SubresourceName | '', namespace: string, name: string, patch: object): T {
    const type = 'application/strategic-merge-patch+json';
    const target = { ...this.#target(namespace, name), subresource };
    return throughJSON(this.#registry.patch(target, type, throughJSON(patch), requestOf('patch'))) as T;
  }

  protected deleteIn(namespace: string, name: string, deletion: ObjectDeletion): void {
    this.#registry.delete(this.#target(namespace, name), deletion, requestOf('delete'));
  }

  #target(namespace: string, name: string): Target {
    return { definition: resourceNamed('', 'v1', this.#resource)!, namespace, name, subresource: '' };
  }
}

/** The objects of a resource with namespaces; see `PodAccess` for pods. */
export class NamespacedObjectAccess<T extends object = NamespacedObject> extends ObjectAccess<T> {
  /** Creates the object; its namespace is `default` unless it names another. */
  create(object: object): T {
    const { metadata } = object as { readonly metadata?: { readonly namespace?: string } };
    return this.createIn(metadata?.namespace ?? 'default', object);
  }

  /** The object, or undefined if there is none with this name. */
  get(namespace: string, name: string): T | undefined {
    return this.find(namespace, name);
  }

  /** Applies a strategic merge patch; null removes a field. Throws for a field that the object does not have. */
  patch(namespace: string, name: string, patch: object): T {
    return this.patchIn('', namespace, name, patch);
  }

  /** Deletes the object as a user does: it is removed immediately or gets a deletionTimestamp. */
  delete(namespace: string, name: string, deletion: ObjectDeletion = {}): void {
    this.deleteIn(namespace, name, deletion);
  }
}

/** Nodes or Namespaces. */
export class ClusterObjectAccess extends ObjectAccess<ClusterObject> {
  /** Creates the object; a string creates an object with only this name. */
  create(object: string | object): ClusterObject {
    return this.createIn('', typeof object === 'string' ? { metadata: { name: object } } : object);
  }

  /** The object, or undefined if there is none with this name. */
  get(name: string): ClusterObject | undefined {
    return this.find('', name);
  }

  /** Applies a strategic merge patch to metadata and spec. Throws for a field that the object does not have, and for `status`. */
  patch(name: string, patch: ObjectPatch): ClusterObject {
    requireFields(patch, ['metadata', 'spec'], 'patch');
    return this.patchIn('', '', name, patch);
  }

  /** Applies a strategic merge patch to the status: `{ status: { … } }`. Throws for any other part of the object. */
  patchStatus(name: string, patch: { readonly metadata?: object; readonly status: object }): ClusterObject {
    requireFields(patch, ['metadata', 'status'], 'patchStatus');
    return this.patchIn('status', '', name, patch);
  }

  /** Deletes an object, as an administrator does. */
  delete(name: string): void {
    this.deleteIn('', name, {});
  }
}

function requestOf(verb: string): Request {
  return directRequest(verb, 'system:admin');
}

/** Serializes through JSON as HTTP does, so Dates become strings. */
export function throughJSON(object: object): unknown {
  return JSON.parse(JSON.stringify(object));
}

/** @throws APIStatusError 400 for a field that this method does not write */
export function requireFields(patch: object, fields: readonly string[], method: string): void {
  const other = Object.keys(patch).find((field) => ![...fields, 'kind', 'apiVersion'].includes(field));
  if (other !== undefined)
    throw badRequest(`${method} writes ${fields.join(' and ')} of an object, got a patch with \`${other}\``);
}
