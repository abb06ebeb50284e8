import type { Target } from './http/target.ts';
import type { Clock } from '../shared/clock.ts';
import { type Entropy, systemEntropy } from '../shared/entropy.ts';
import { timeFromEpochMs } from '../shared/time.ts';
import {
  alreadyExists,
  APIStatusError,
  badRequest,
  conflict,
  forbidden,
  invalid,
  modified,
  notFound,
} from './api-status.ts';
import { type FieldError, invalidValue } from '../kube/validation/field-error.ts';
import {
  decodeObject,
  decodeKind,
  type DecodedObject,
  decodePatched,
  namespaceMismatch,
  refuseOtherName,
  type StrictDecoding,
  withServerMetadata,
} from './storage/decode-object.ts';
import { hasFinalizers, markedForDeletion, refuseImmortal, refusePreconditions } from './storage/object-deletion.ts';
import { storedMetadata } from './storage/stored-metadata.ts';
import { isSameObject, specOf, type StoredObject } from './storage/objects.ts';
import { type JSONObject, numberOf, objectOf, stringOf } from '../kube/objects/json-object.ts';
import { applyPatch, type PatchMediaType } from './storage/patch.ts';
import { preemptionPolicy, priorityOfClass } from './resources/pod-admission-plugins.ts';
import { refuseResize } from './resources/pod-resize.ts';
import { boundPod, evictedPod } from './resources/pod-strategy.ts';
import { deleteOptionsOf } from './http/request-options.ts';
import type { ResourceDefinition } from './resources/resources.ts';
import type { Mutations } from './storage/mutations.ts';
import type { Verb } from './resources/subresources.ts';
import type { ObjectStore } from './storage/store.ts';
import type { DeleteOptions } from './resources/strategy.ts';

/** A write before it is stored; a check throws to reject it. */
export interface Admission {
  readonly operation: 'create' | 'update' | 'delete';
  readonly target: Target;
  readonly next: StoredObject | undefined;
  readonly old: StoredObject | undefined;
}

/** Who makes a request, and how. */
export interface Request extends StrictDecoding {
  readonly verb: string;
  readonly user: string;
  readonly dryRun: boolean;
  readonly admit: (admission: Admission) => void;
}

/** A request that does not come over HTTP. Nothing is checked for its user; unknown fields are dropped, but refused in a patch. */
export function directRequest(verb: string, user: string): Request {
  return {
    ...{ verb, user, dryRun: false, admit: () => {} },
    ...{ fieldValidation: verb === 'patch' ? 'Strict' : 'Ignore', duplicateFields: [], warn: () => {} },
  };
}

/** The result of a DELETE: the object as it is now, or as it was before its removal. */
export interface Deletion {
  readonly object: StoredObject;
  readonly isRemoved: boolean;
}

const randomCharacters = 'bcdfghjklmnpqrstvwxz2456789';

/**
 * The verbs on objects, with admission, defaulting and validation. Synchronous, so that two writes
 * cannot interleave. Source: `registry/generic/registry/store.go`.
 */
export class Registry {
  readonly #store: ObjectStore;
  readonly #clock: Clock;
  readonly #mutations: Mutations;
  readonly #entropy: Entropy;

  constructor(store: ObjectStore, clock: Clock, mutations: Mutations, entropy = systemEntropy) {
    this.#store = store;
    this.#clock = clock;
    this.#mutations = mutations;
    this.#entropy = entropy;
  }

  get({ definition, namespace, name }: Target): StoredObject {
    const object = this.#store.get(definition.resource, namespace, name);
    if (object === undefined) throw notFound(definition, name);
    return object;
  }

  create(target: Target, body: JSONObject, request: Request): StoredObject {
    const { definition, namespace } = target;
    const sent = this.#mutated(target, decodeObject(definition, body, request), request);
    const { generateName } = sent.metadata;
    if (sent.metadata.namespace !== undefined && sent.metadata.namespace !== namespace) throw namespaceMismatch();
    const name = sent.metadata.name ?? (generateName === undefined ? '' : this.#generatedName(target, generateName));
    this.#refuseMissingNamespace(target, name);
    const now = this.#now();
    const object = withTopologyLabels(
      this.#store,
      definition.strategy.prepareForCreate(
        {
          ...sent,
          metadata: storedMetadata({
            ...sent.metadata,
            ...{ name, namespace: namespace === '' ? undefined : namespace, uid: this.#entropy.uuid() },
            resourceVersion: sent.metadata.resourceVersion ?? '',
            ...{ creationTimestamp: now, generation: undefined },
            ...{ deletionTimestamp: undefined, deletionGracePeriodSeconds: undefined },
          }),
        },
        now,
      ),
    );
    request.admit({ operation: 'create', target, next: object, old: undefined });
    refuseClasses(definition, objectOf(body, 'spec'), object);
    throwIfInvalid(definition, name, definition.strategy.validateCreate(object));
    if (this.#store.get(definition.resource, namespace, name) !== undefined) throw alreadyExists(definition, name);
    if (object.metadata.resourceVersion !== '' && !request.dryRun) {
      throw new APIStatusError(500, '', 'resourceVersion should not be set on objects to be created');
    }
    return this.#put(target, object, request);
  }

  /** PUT. */
  replace(
    target: Target,
    body: JSONObject,
    request: Request,
  ): { readonly object: StoredObject; readonly isNew: boolean } {
    const { definition, namespace, name } = target;
    const next = decodeObject(definition, body, request);
    refuseOtherName(target, next);
    const old = this.#store.get(definition.resource, namespace, name);
    if (old === undefined) {
      if (definition.strategy.createOnUpdate !== true) throw notFound(definition, name);
      return { object: this.create(target, body, request), isNew: true };
    }
    const { resourceVersion, uid } = next.metadata;
    if (resourceVersion === undefined && definition.strategy.conditionalUpdateOnly === true) {
      const subject = { ...definition, kind: definition.resource };
      const because = 'must be specified for an update';
      throw invalid(subject, name, [invalidValue('metadata.resourceVersion', 0, because)]);
    }
    if (uid !== undefined && uid !== old.metadata.uid) {
      const because = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${old.metadata.uid}`;
      throw conflict(definition, name, because);
    }
    return { object: this.#update(target, next, old, request), isNew: false };
  }

  patch(target: Target, type: PatchMediaType, patch: unknown, request: Request): StoredObject {
    const { definition } = target;
    const old = this.get(target);
    const next = decodePatched(definition, applyPatch(definition.resource, type, old, patch), request);
    refuseOtherName(target, next);
    return this.#update(target, next, old, request);
  }

  /** Marks the object as being deleted, or removes it. Source: `rest.BeforeDelete`. */
  delete(target: Target, options: DeleteOptions, request: Request): Deletion {
    const { definition } = target;
    const old = this.get(target);
    refusePreconditions(definition, old, options);
    request.admit({ operation: 'delete', target, next: undefined, old });
    refuseImmortal(definition, old.metadata.name);
    const marked = markedForDeletion(definition, old, options, this.#clock.now());
    const isUnchanged = marked === old;
    const isFinal = (marked.metadata.deletionGracePeriodSeconds ?? 0) === 0 && !hasFinalizers(marked);
    if (isFinal && definition.strategy.gracePeriodSeconds === undefined) {
      return { object: this.#remove(target, old, request), isRemoved: true };
    }
    const written = isUnchanged ? old : this.#put(target, marked, request);
    if (!isFinal || isUnchanged) return { object: written, isRemoved: false };
    return { object: this.#remove(target, written, request), isRemoved: true };
  }

  /** POST to `pods/binding`. */
  bind(target: Target, body: JSONObject, request: Request): void {
    const binding = decodeKind('Binding', body);
    if (stringOf(objectOf(binding, 'metadata'), 'name') !== target.name) {
      throw badRequest('name in URL does not match name in Binding object');
    }
    const pod = this.get(target);
    request.admit({ operation: 'create', target, next: undefined, old: pod });
    const subject = { ...target.definition, resource: 'pods/binding' };
    const nodeName = stringOf(specOf(pod), 'nodeName');
    if (nodeName !== '')
      throw conflict(subject, target.name, `pod ${target.name} is already assigned to node "${nodeName}"`);
    if (pod.metadata.deletionTimestamp !== undefined) {
      throw conflict(subject, target.name, `pod ${target.name} is being deleted, cannot be assigned to a host`);
    }
    if (stringOf(objectOf(binding, 'target'), 'name') === '') {
      throw new APIStatusError(500, '', 'target.name: Required value');
    }
    const bound = boundPod(pod, binding, this.#now());
    const isToNode = stringOf(objectOf(binding, 'target'), 'kind') === 'Node';
    this.#put(target, isToNode ? withTopologyLabels(this.#store, bound) : bound, request);
  }

  /** POST to `pods/eviction`. There are no disruption budgets that could refuse it. */
  evict(target: Target, body: JSONObject, request: Request): void {
    const eviction = decodeKind('Eviction', body);
    if (stringOf(objectOf(eviction, 'metadata'), 'name') !== target.name) {
      throw badRequest('name in URL does not match name in Eviction object');
    }
    const options = deleteOptionsOf(objectOf(eviction, 'deleteOptions'));
    const dryRun = request.dryRun || options.dryRun === true;
    const pod = this.get(target);
    request.admit({ operation: 'create', target, next: undefined, old: pod });
    refusePreconditions(target.definition, pod, options);
    if (!dryRun) this.#put(target, evictedPod(pod, this.#now()), request);
    const { resourceVersion: _checked, ...others } = options;
    this.delete(target, others, { ...request, dryRun, admit: () => {} });
  }

  #update(target: Target, sent: DecodedObject, old: StoredObject, request: Request): StoredObject {
    const { definition, subresource, name } = target;
    const next = this.#mutated(target, sent, request);
    const { resourceVersion } = next.metadata;
    if (resourceVersion !== undefined && resourceVersion !== old.metadata.resourceVersion)
      throw modified(definition, name);
    const complete = { ...next, metadata: storedMetadata(withServerMetadata(next.metadata, old)) };
    const prepared = definition.strategy.prepareForUpdate(complete, old, subresource);
    request.admit({ operation: 'update', target, next: complete, old });
    throwIfInvalid(definition, name, definition.strategy.validateUpdate(prepared, old, subresource));
    if (subresource === 'resize') refuseResize(definition, prepared, old, this.#store);
    if (isSameObject(prepared, old)) return old;
    const isFinal = (prepared.metadata.deletionGracePeriodSeconds ?? 0) === 0 && !hasFinalizers(prepared);
    if (prepared.metadata.deletionTimestamp === undefined || !isFinal) return this.#put(target, prepared, request);
    this.#remove(target, prepared, request);
    return prepared;
  }

  /** Runs the mutating webhooks, before defaults of the server and validation. */
  #mutated(target: Target, object: DecodedObject, { verb }: Request): DecodedObject {
    const { definition, namespace, name, subresource } = target;
    const about = { verb: verb as Verb, resource: definition.resource, subresource, namespace, name };
    const changed = this.#mutations.apply(about, object);
    return changed === undefined ? object : decodeObject(definition, changed as JSONObject, directRequest('', ''));
  }

  #put({ definition }: Target, object: StoredObject, request: Request): StoredObject {
    return request.dryRun ? withoutEmptyRevision(object) : this.#store.put(definition.resource, object, request);
  }

  #remove({ definition }: Target, object: StoredObject, request: Request): StoredObject {
    return request.dryRun ? object : this.#store.remove(definition.resource, object, request);
  }

  #now(): string {
    return timeFromEpochMs(this.#clock.now());
  }

  #generatedName(target: Target, prefix: string): string {
    const { definition, namespace } = target;
    for (;;) {
      const suffix = Array.from(
        { length: 5 },
        () => randomCharacters[this.#entropy.integer(randomCharacters.length)],
      ).join('');
      const name = prefix.slice(0, 58) + suffix;
      if (this.#store.get(definition.resource, namespace, name) === undefined) return name;
    }
  }

  #refuseMissingNamespace({ definition, namespace }: Target, name: string): void {
    if (namespace === '') return;
    const found = this.#store.get('namespaces', '', namespace);
    if (found === undefined) throw notFound({ group: '', resource: 'namespaces', kind: 'Namespace' }, namespace);
    if (found.metadata.deletionTimestamp !== undefined) {
      throw forbidden(
        definition,
        name,
        `unable to create new content in namespace ${namespace} because it is being terminated`,
        [{ reason: 'NamespaceTerminating', field: 'metadata.namespace' }],
      );
    }
  }
}

/** The RuntimeClass and Priority admission plugins: there are no runtime classes, and the priority follows from its class. */
function refuseClasses(definition: ResourceDefinition, sent: JSONObject, pod: StoredObject): void {
  if (definition.resource !== 'pods') return;
  const { name } = pod.metadata;
  const refuse = (because: string): never => {
    throw forbidden(definition, name, because);
  };
  if (sent.runtimeClassName != null) {
    refuse(`pod rejected: RuntimeClass ${JSON.stringify(sent.runtimeClassName)} not found`);
  }
  if (sent.overhead != null) {
    refuse('pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead');
  }
  const className = stringOf(sent, 'priorityClassName');
  const priority = priorityOfClass(className);
  if (priority === undefined) {
    return refuse(`no PriorityClass with name ${className} was found`);
  }
  if (sent.priority !== undefined && sent.priority !== null && sent.priority !== priority) {
    const sentPriority = numberOf(sent, 'priority');
    refuse(
      `the integer value of priority (${sentPriority}) must not be provided in pod spec; priority admission controller computed ${priority} from the given PriorityClass name`,
    );
  }
  const policy = stringOf(sent, 'preemptionPolicy');
  if (policy !== '' && policy !== preemptionPolicy) {
    refuse(
      `the string value of PreemptionPolicy (${policy}) must not be provided in pod spec; priority admission controller computed ${preemptionPolicy} from the given PriorityClass name`,
    );
  }
}

const topologyLabels = ['topology.kubernetes.io/zone', 'topology.kubernetes.io/region'];

/** The PodTopologyLabels admission plugin: a pod on a node gets the node's zone and region. */
function withTopologyLabels(store: ObjectStore, object: StoredObject): StoredObject {
  if (object.kind !== 'Pod') return object;
  const labels = store.get('nodes', '', stringOf(specOf(object), 'nodeName'))?.metadata.labels ?? {};
  const copied = Object.entries(labels).filter(([name]) => topologyLabels.includes(name));
  if (copied.length === 0) return object;
  const merged = { ...object.metadata.labels, ...Object.fromEntries(copied) };
  return { ...object, metadata: { ...object.metadata, labels: merged } };
}

/** An object created by a dry run has no resourceVersion. */
function withoutEmptyRevision(object: StoredObject): StoredObject {
  if (object.metadata.resourceVersion !== '') return object;
  const { resourceVersion: _empty, ...metadata } = object.metadata;
  return { ...object, metadata: metadata as StoredObject['metadata'] };
}

function throwIfInvalid(definition: ResourceDefinition, name: string, causes: readonly FieldError[]): void {
  if (causes.length > 0) throw invalid(definition, name, causes);
}
