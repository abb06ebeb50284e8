import type { PodStatus, ValidPod } from '../kube/types.ts';
import type { Clock } from '../shared/clock.ts';
import { badRequest } from './api-status.ts';
import type { PodEvent, PodEvents } from './pod-events.ts';
import type { JSONObject } from '../kube/json-object.ts';
import { directRequest, type Registry, type Request } from './registry.ts';
import type { Target } from './target.ts';
import { resourceNamed } from './resources.ts';
import type { ObjectStore } from './store.ts';

/** How a pod is deleted; the default is the grace period of its spec. */
export interface PodDeletion {
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

/** A strategic merge patch of a pod's status; null removes a field. */
export interface StatusPatch {
  readonly metadata?: object;
  readonly status: { readonly [Field in keyof PodStatus]?: unknown };
}

/**
 * Reads and writes pods without HTTP, as the admin, to simulate other writers in a test.
 * Admission, defaulting and validation are those of an HTTP request, and a method throws the error
 * of the response with `code`, `reason` and `details`. Returned pods are copies.
 */
export class PodAccess implements PodEvents {
  /** The clock of the server. */
  readonly clock: Clock;
  readonly #store: ObjectStore;
  readonly #registry: Registry;

  constructor(store: ObjectStore, registry: Registry, clock: Clock) {
    this.clock = clock;
    this.#store = store;
    this.#registry = registry;
  }

  /** Creates the pod; its namespace is `default` unless it names another. */
  create(pod: object): ValidPod {
    const { metadata } = pod as { readonly metadata?: { readonly namespace?: string } };
    const target = targetOf(metadata?.namespace ?? 'default', '');
    return copyOf(this.#registry.create(target, throughJSON(pod) as JSONObject, requestOf('create')));
  }

  /** The pod, or undefined if there is none with this name. */
  get(namespace: string, name: string): ValidPod | undefined {
    const pod = this.#store.get('pods', namespace, name);
    return pod === undefined ? undefined : copyOf(pod);
  }

  /** All pods. */
  list(): ValidPod[] {
    return this.#store.list('pods', '').map((pod) => copyOf(pod));
  }

  /** Calls `listener` right after every write to a pod, with a copy of it, until the returned function is called. */
  subscribe(listener: (event: PodEvent) => void): () => void {
    return this.#store.subscribe('pods', ({ type, object }) => listener({ type, pod: copyOf(object) }));
  }

  /** Applies a strategic merge patch to metadata and spec. Throws for a field that a pod does not have, and for `status`. */
  patch(namespace: string, name: string, patch: ObjectPatch): ValidPod {
    requireFields(patch, ['metadata', 'spec'], 'patch');
    return this.#patch(targetOf(namespace, name), patch);
  }

  /**
   * Applies a strategic merge patch to the status: `{ status: { phase: 'Running' } }`. Throws for a
   * field that a status does not have, and for any other part of the pod.
   */
  patchStatus(namespace: string, name: string, patch: StatusPatch): ValidPod {
    requireFields(patch, ['metadata', 'status'], 'patchStatus');
    return this.#patch({ ...targetOf(namespace, name), subresource: 'status' }, patch);
  }

  /** Deletes the pod as a user does: it is removed immediately or gets a deletionTimestamp. */
  delete(namespace: string, name: string, deletion: PodDeletion = {}): void {
    this.#registry.delete(targetOf(namespace, name), deletion, requestOf('delete'));
  }

  #patch(target: Target, patch: object): ValidPod {
    const type = 'application/strategic-merge-patch+json';
    return copyOf(this.#registry.patch(target, type, copyOf(patch), requestOf('patch')));
  }
}

/** @throws APIStatusError 400 for a field that this method does not write */
export function requireFields(patch: object, fields: readonly string[], method: string): void {
  const other = Object.keys(patch).find((field) => ![...fields, 'kind', 'apiVersion'].includes(field));
  if (other !== undefined)
    throw badRequest(`${method} writes ${fields.join(' and ')} of an object, got a patch with \`${other}\``);
}

function targetOf(namespace: string, name: string): Target {
  return { definition: resourceNamed('', 'v1', 'pods')!, namespace, name, subresource: '' };
}

function requestOf(verb: string): Request {
  return directRequest(verb, 'system:admin');
}

function copyOf(object: object): ValidPod {
  return throughJSON(object) as ValidPod;
}

/** Serializes through JSON as HTTP does, so Dates become strings. */
function throughJSON(object: object): unknown {
  return JSON.parse(JSON.stringify(object));
}
