import { directRequest, type Registry } from '../registry.ts';
import { throughJSON } from './namespaced-object-access.ts';
import { type ObjectPatch, requireFields } from './pod-access.ts';
import { type Target } from '../http/target.ts';
import { resourceNamed } from './resources.ts';
import type { ObjectStore } from '../storage/store.ts';

/** A Node or a Namespace as the server has it. */
export interface ClusterObject {
  readonly metadata: { readonly name: string; readonly uid: string; readonly [field: string]: unknown };
  readonly [field: string]: unknown;
}

/**
 * Reads and writes Nodes or Namespaces without HTTP, as the admin; `PodAccess` is the same for pods.
 * A method throws the error that the HTTP request would fail with. Returned objects are copies.
 */
export class ClusterObjectAccess {
  readonly #resource: 'nodes' | 'namespaces';
  readonly #store: ObjectStore;
  readonly #registry: Registry;

  constructor(resource: 'nodes' | 'namespaces', store: ObjectStore, registry: Registry) {
    this.#resource = resource;
    this.#store = store;
    this.#registry = registry;
  }

  /** Creates the object; a string creates an object with only this name. */
  create(object: string | object): ClusterObject {
    const body = typeof object === 'string' ? { metadata: { name: object } } : copyOf(object);
    return copyOf(this.#registry.create(this.#target(''), body, adminRequest('create')));
  }

  /** The object, or undefined if there is none with this name. */
  get(name: string): ClusterObject | undefined {
    const object = this.#store.get(this.#resource, '', name);
    return object === undefined ? undefined : copyOf(object);
  }

  /** Copies of all objects of this resource. */
  list(): ClusterObject[] {
    return this.#store.list(this.#resource, '').map(copyOf);
  }

  /** Applies a strategic merge patch to metadata and spec. Throws for a field that the object does not have, and for `status`. */
  patch(name: string, patch: ObjectPatch): ClusterObject {
    requireFields(patch, ['metadata', 'spec'], 'patch');
    return this.#patch(this.#target(name), patch);
  }

  /** Applies a strategic merge patch to the status: `{ status: { … } }`. Throws for any other part of the object. */
  patchStatus(name: string, patch: { readonly metadata?: object; readonly status: object }): ClusterObject {
    requireFields(patch, ['metadata', 'status'], 'patchStatus');
    return this.#patch({ ...this.#target(name), subresource: 'status' }, patch);
  }

  /** Deletes an object, as an administrator does. */
  delete(name: string): void {
    this.#registry.delete(this.#target(name), {}, adminRequest('delete'));
  }

  #patch(target: Target, patch: object): ClusterObject {
    const type = 'application/strategic-merge-patch+json';
    return copyOf(this.#registry.patch(target, type, copyOf(patch), adminRequest('patch')));
  }

  #target(name: string): Target {
    return { definition: resourceNamed('', 'v1', this.#resource)!, namespace: '', name, subresource: '' };
  }
}

const adminRequest = (verb: string): ReturnType<typeof directRequest> => directRequest(verb, 'system:admin');

function copyOf(object: object): ClusterObject {
  return throughJSON(object) as ClusterObject;
}
