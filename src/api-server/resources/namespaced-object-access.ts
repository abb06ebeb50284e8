import type { JSONObject } from '../../kube/objects/json-object.ts';
import { directRequest, type Registry } from '../registry.ts';
import { resourceNamed } from './resources.ts';
import type { ObjectStore } from '../storage/store.ts';
import type { SubresourceName } from './subresources.ts';
import type { Target } from '../http/target.ts';

/** An object with a namespace as the server has it. */
export interface NamespacedObject {
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
    readonly [field: string]: unknown;
  };
  readonly [field: string]: unknown;
}

/** How an object is deleted; the default is the grace period of a pod's spec. */
export interface ObjectDeletion {
  readonly gracePeriodSeconds?: number;
  readonly uid?: string;
}

/**
 * Reads and writes the objects of one resource without HTTP, as the admin. Admission, defaulting and validation are those
 * of an HTTP request, and a method throws the error of the response with `code`, `reason` and `details`. Returned objects
 * are copies.
 */
export class NamespacedObjectAccess<T extends object = NamespacedObject> {
  readonly #resource: string;
  readonly #store: ObjectStore;
  readonly #registry: Registry;

  constructor(resource: string, store: ObjectStore, registry: Registry) {
    this.#resource = resource;
    this.#store = store;
    this.#registry = registry;
  }

  /** Creates the object; its namespace is `default` unless it names another. */
  create(object: object): T {
    const { metadata } = object as { readonly metadata?: { readonly namespace?: string } };
    const target = this.#target(metadata?.namespace ?? 'default', '');
    return throughJSON(this.#registry.create(target, throughJSON(object) as JSONObject, requestOf('create'))) as T;
  }

  /** The object, or undefined if there is none with this name. */
  get(namespace: string, name: string): T | undefined {
    const object = this.#store.get(this.#resource, namespace, name);
    return object === undefined ? undefined : (throughJSON(object) as T);
  }

  /** All objects of this resource. */
  list(): T[] {
    return this.#store.list(this.#resource, '').map((object) => throughJSON(object) as T);
  }

  /** Applies a strategic merge patch; null removes a field. Throws for a field that the object does not have. */
  patch(namespace: string, name: string, patch: object): T {
    return this.patchSubresource('', namespace, name, patch);
  }

  /** Deletes the object as a user does: it is removed immediately or gets a deletionTimestamp. */
  delete(namespace: string, name: string, deletion: ObjectDeletion = {}): void {
    this.#registry.delete(this.#target(namespace, name), deletion, requestOf('delete'));
  }

  protected patchSubresource(subresource: SubresourceName | '', namespace: string, name: string, patch: object): T {
    const type = 'application/strategic-merge-patch+json';
    const target = { ...this.#target(namespace, name), subresource };
    return throughJSON(this.#registry.patch(target, type, throughJSON(patch), requestOf('patch'))) as T;
  }

  #target(namespace: string, name: string): Target {
    return { definition: resourceNamed('', 'v1', this.#resource)!, namespace, name, subresource: '' };
  }
}

const requestOf = (verb: string): ReturnType<typeof directRequest> => directRequest(verb, 'system:admin');

/** Serializes through JSON as HTTP does, so Dates become strings. */
export function throughJSON(object: object): unknown {
  return JSON.parse(JSON.stringify(object));
}
