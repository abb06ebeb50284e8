import isEqual from 'lodash/isEqual.js';
import { epochMsOf, timeFromEpochMs } from '../../shared/time.ts';
import { conflict, forbidden } from '../api-status.ts';
import { storedMetadata } from './stored-metadata.ts';
import { specOf, statusOf, type StoredObject } from './objects.ts';
import type { ResourceDefinition } from '../resources/resources.ts';
import type { DeleteOptions } from '../resources/strategy.ts';

/**
 * The object with a deletionTimestamp and the finalizers of the propagation policy. Returns the same
 * object if nothing changes.
 * Source: `rest.BeforeDelete`, `deletionFinalizersForGarbageCollection`.
 */
export function markedForDeletion(
  definition: ResourceDefinition,
  old: StoredObject,
  options: DeleteOptions,
  nowMs: number,
): StoredObject {
  return withPropagationFinalizers(withDeletionTime(definition, old, options, nowMs), options);
}

function withPropagationFinalizers(object: StoredObject, { propagationPolicy }: DeleteOptions): StoredObject {
  if (propagationPolicy === undefined) return object;
  const { finalizers = [] } = object.metadata;
  const others = finalizers.filter((finalizer) => finalizer !== 'orphan' && finalizer !== 'foregroundDeletion');
  const added = { Orphan: ['orphan'], Foreground: ['foregroundDeletion'], Background: [] }[propagationPolicy];
  const wanted = [...others, ...added];
  if (isEqual([...wanted].sort(), [...finalizers].sort())) return object;
  const metadata = { ...object.metadata, finalizers: wanted.length === 0 ? undefined : wanted };
  return { ...object, metadata: storedMetadata(metadata) };
}

function withDeletionTime(
  definition: ResourceDefinition,
  old: StoredObject,
  options: DeleteOptions,
  nowMs: number,
): StoredObject {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, generation } = old.metadata;
  if (deletionTimestamp !== undefined) {
    const { gracePeriodSeconds: asked = deletionGracePeriodSeconds } = options;
    const gracePeriodSeconds = asked < 0 ? 1 : asked;
    if (gracePeriodSeconds >= deletionGracePeriodSeconds) return old;
    const atMs = epochMsOf(deletionTimestamp) - (deletionGracePeriodSeconds - gracePeriodSeconds) * 1000;
    return withDeletion(old, atMs, gracePeriodSeconds);
  }
  const seconds = definition.strategy.gracePeriodSeconds?.(old, options) ?? 0;
  const marked = withDeletion(old, nowMs + seconds * 1000, seconds);
  if (definition.resource === 'namespaces') {
    // No namespace controller finishes the deletion, as with envtest.
    const { deletionGracePeriodSeconds: _none, ...metadata } = marked.metadata;
    return { ...marked, metadata, status: { ...statusOf(old), phase: 'Terminating' } };
  }
  return generation === undefined
    ? marked
    : { ...marked, metadata: { ...marked.metadata, generation: generation + 1 } };
}

function withDeletion(object: StoredObject, atMs: number, deletionGracePeriodSeconds: number): StoredObject {
  const metadata = { ...object.metadata, deletionTimestamp: timeFromEpochMs(atMs), deletionGracePeriodSeconds };
  return { ...object, metadata: storedMetadata(metadata) };
}

/** Whether finalizers keep the object, including those of a Namespace's spec. */
export function hasFinalizers(object: StoredObject): boolean {
  const specFinalizers = object.kind === 'Namespace' ? specOf(object).finalizers : undefined;
  return (object.metadata.finalizers?.length ?? 0) > 0 || (Array.isArray(specFinalizers) && specFinalizers.length > 0);
}

const immortalNamespaces = ['default', 'kube-system', 'kube-public'];

/** The NamespaceLifecycle admission plugin. @throws APIStatusError 403 */
export function refuseImmortal(definition: ResourceDefinition, name: string): void {
  if (definition.resource !== 'namespaces' || !immortalNamespaces.includes(name)) return;
  throw forbidden(definition, name, 'this namespace may not be deleted');
}

/** @throws APIStatusError 409 */
export function refusePreconditions(definition: ResourceDefinition, old: StoredObject, options: DeleteOptions): void {
  const { uid, resourceVersion, name } = old.metadata;
  const subject = { ...definition, resource: definition.kind, group: '' };
  if (options.uid !== undefined && options.uid !== uid) {
    const because = `the UID in the precondition (${options.uid}) does not match the UID in record (${uid}). The object might have been deleted and then recreated`;
    throw conflict(subject, name, because);
  }
  if (options.resourceVersion !== undefined && options.resourceVersion !== resourceVersion) {
    const because = `the ResourceVersion in the precondition (${options.resourceVersion}) does not match the ResourceVersion in record (${resourceVersion}). The object might have been modified`;
    throw conflict(subject, name, because);
  }
}
