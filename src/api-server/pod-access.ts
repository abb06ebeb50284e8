import type { Pod } from '../kube/types.ts';
import type { PodEvent, PodEvents } from './pod-events.ts';
import type { JSONObject } from './objects.ts';
import { directRequest, type Registry, type Request } from './registry.ts';
import { type Target } from './target.ts';
import { resourceNamed } from './resources.ts';
import type { ObjectStore } from './store.ts';

/** How a pod is deleted; without a grace period its own is used. */
export interface PodDeletion {
  readonly gracePeriodSeconds?: number;
  readonly uid?: string;
}

/**
 * Pods, read and written past HTTP with the rights of the admin: what a test does to a pod beside
 * the code under test. Everything a server does to a request is done, so a method throws what
 * the HTTP response would be: an error with `code`, `reason` and `details`. Pods handed out are copies.
 */
export class PodAccess implements PodEvents {
  readonly #store: ObjectStore;
  readonly #registry: Registry;

  constructor(store: ObjectStore, registry: Registry) {
    this.#store = store;
    this.#registry = registry;
  }

  /** Creates the pod; its namespace is `default` unless it names another. */
  create(pod: object): Pod {
    const { metadata } = pod as { readonly metadata?: { readonly namespace?: string } };
    const target = targetOf(metadata?.namespace ?? 'default', '');
    return copyOf(this.#registry.create(target, copyOf(pod) as JSONObject, requestOf('create')));
  }

  /** The pod, or undefined when there is none of that name. */
  get(namespace: string, name: string): Pod | undefined {
    const pod = this.#store.get('pods', namespace, name);
    return pod === undefined ? undefined : copyOf(pod);
  }

  /** All pods, or those of one namespace. */
  list(namespace = ''): Pod[] {
    return this.#store.list('pods', namespace).map(copyOf);
  }

  /** Calls `listener` right after every write to a pod, with a copy of it, until the returned function is called. */
  subscribe(listener: (event: PodEvent) => void): () => void {
    return this.#store.subscribe('pods', ({ type, object }) => listener({ type, pod: copyOf(object) }));
  }

  /** Applies a strategic merge patch to metadata and spec. */
  patch(namespace: string, name: string, patch: object): Pod {
    return this.#patch(targetOf(namespace, name), patch);
  }

  /** Applies a strategic merge patch to the status. */
  patchStatus(namespace: string, name: string, patch: object): Pod {
    return this.#patch({ ...targetOf(namespace, name), subresource: 'status' }, patch);
  }

  /** Deletes the pod as a user does: it is removed immediately or gets a deletionTimestamp. */
  delete(namespace: string, name: string, deletion: PodDeletion = {}): void {
    this.#registry.delete(targetOf(namespace, name), deletion, requestOf('delete'));
  }

  #patch(target: Target, patch: object): Pod {
    const type = 'application/strategic-merge-patch+json';
    return copyOf(this.#registry.patch(target, type, copyOf(patch), requestOf('patch')));
  }
}

function targetOf(namespace: string, name: string): Target {
  return { definition: resourceNamed('', 'v1', 'pods')!, namespace, name, subresource: '' };
}

function requestOf(verb: string): Request {
  return directRequest(verb, 'system:admin');
}

/** Through JSON, as HTTP would, so that Dates become strings. */
function copyOf(object: object): Pod {
  return JSON.parse(JSON.stringify(object)) as Pod;
}
