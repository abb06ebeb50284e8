import isEqual from 'lodash/isEqual.js';
import pick from 'lodash/pick.js';
import { isRestartableInitContainer } from '../../status-manager/status/container-restart.ts';
import { computePodQOS } from '../../status-manager/status/qos.ts';
import { configMirrorAnnotation, isMirrorPod } from '../../kube/pods/static-pods.ts';
import { isResizable } from '../../kube/pods/resizable-resources.ts';
import type { Container } from '../../kube/objects/types.ts';
import { APIStatusError } from '../api-status.ts';
import { type FieldError, forbiddenValue, invalidValue } from '../../kube/validation/field-error.ts';
import { isJSONObject, type JSONObject, objectOf, objectsOf } from '../../kube/objects/json-object.ts';
import { specOf, statusOf, type StoredObject } from '../storage/objects.ts';
import { storedMetadata } from '../storage/stored-metadata.ts';
import { withDefaultTolerations } from './pod-admission-plugins.ts';
import { withKnownStatus } from './pod-status.ts';

const mutableSpec =
  'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';
/** Fields that an update cannot remove by omitting them: set at create, or unknown to older clients. */
const preservedFields = ['resources', 'priority', 'preemptionPolicy'];

/** A request to `status` updates the status, labels, annotations and finalizers. */
export function onlyStatusOf(next: StoredObject, old: StoredObject): StoredObject {
  const { deletionTimestamp = next.metadata.deletionTimestamp } = old.metadata;
  return {
    ...old,
    metadata: storedMetadata({ ...metadataForSubresource(next, old), deletionTimestamp }),
    status: withKnownStatus(statusOf(next), statusOf(old)),
  };
}

/** Source: `ResetObjectMetaForStatus`, as far as the API machinery does not restore the fields itself. */
function metadataForSubresource(next: StoredObject, old: StoredObject): StoredObject['metadata'] {
  const { ownerReferences, generation } = old.metadata;
  return storedMetadata({ ...next.metadata, ownerReferences, generation });
}

/** An update of the pod itself does not change the status. */
export function onlySpecOf(next: StoredObject, old: StoredObject): StoredObject {
  const spec = withDefaultTolerations({ ...pick(specOf(old), preservedFields), ...specOf(next) });
  return withGeneration({ ...next, spec, status: statusOf(old) }, old);
}

/** A request to `ephemeralcontainers` changes the ephemeral containers only. */
export function onlyEphemeralContainersOf(next: StoredObject, old: StoredObject): StoredObject {
  const { ephemeralContainers } = specOf(next);
  const { ephemeralContainers: _before, ...others } = specOf(old);
  const spec = { ...others, ...(ephemeralContainers === undefined ? {} : { ephemeralContainers }) };
  return withGeneration({ ...old, metadata: onlySystemMetadata(next, old), spec }, old);
}

/** A request to `resize` changes the resources and the resize policies of containers. */
export function onlyResourcesOf(next: StoredObject, old: StoredObject): StoredObject {
  const spec = specOf(old);
  const [before, after] = [specOf(old), specOf(next)];
  if (spec.resources !== undefined || after.resources !== undefined) {
    const message =
      'APIServer does not resize pods with pod-level resources (spec.resources): set the resources of containers, or use a real kube-apiserver';
    throw new APIStatusError(501, 'NotImplemented', message);
  }
  if (!haveSameNames(after, before, 'containers') || !haveSameNames(after, before, 'initContainers')) {
    return withGeneration({ ...next, status: statusOf(old) }, old);
  }
  const lists: JSONObject = {};
  for (const list of ['containers', 'initContainers']) {
    if (before[list] === undefined) continue;
    lists[list] = objectsOf(before, list).map((container, i) => withResourcesOf(objectsOf(after, list)[i]!, container));
  }
  return withGeneration({ ...old, metadata: onlySystemMetadata(next, old), spec: { ...spec, ...lists } }, old);
}

function withResourcesOf({ resources, resizePolicy }: JSONObject, container: JSONObject): JSONObject {
  const { resizePolicy: _before, ...others } = container;
  return { ...others, resources, ...(resizePolicy === undefined ? {} : { resizePolicy }) };
}

/** Also keeps labels, annotations and finalizers. */
function onlySystemMetadata(next: StoredObject, old: StoredObject): StoredObject['metadata'] {
  const { labels, annotations, finalizers } = old.metadata;
  return storedMetadata({ ...metadataForSubresource(next, old), labels, annotations, finalizers });
}

function withGeneration(next: StoredObject, old: StoredObject): StoredObject {
  const generation = (old.metadata.generation ?? 0) + (isEqual(specOf(next), specOf(old)) ? 0 : 1);
  return { ...next, metadata: { ...next.metadata, generation } };
}

/** Validates the immutable fields in an update of the pod. Source: `ValidatePodUpdate`. */
export function validateSpecUpdate(next: JSONObject, old: JSONObject): FieldError[] {
  for (const list of ['containers', 'initContainers']) {
    if (objectsOf(next, list).length !== objectsOf(old, list).length) {
      return [forbiddenValue(`spec.${list}`, 'pod updates may not add or remove containers')];
    }
  }
  const causes = validateDeadline(next, old);
  const lost = objectsOf(old, 'tolerations').some(
    (toleration) => !objectsOf(next, 'tolerations').some((other) => isEqual(other, toleration)),
  );
  if (lost) {
    causes.push(
      forbiddenValue('spec.tolerations', 'existing toleration can not be modified except its tolerationSeconds'),
    );
  }
  if (!isEqual(withoutMutable(next), withoutMutable(old))) causes.push(forbiddenValue('spec', mutableSpec));
  return causes;
}

function validateDeadline(next: JSONObject, old: JSONObject): FieldError[] {
  const field = 'spec.activeDeadlineSeconds';
  const [before, after] = [old.activeDeadlineSeconds, next.activeDeadlineSeconds];
  if (before === undefined) return [];
  if (after === undefined) return [invalidValue(field, null, 'must not update from a positive integer to nil value')];
  if (Number(after) <= Number(before)) return [];
  return [invalidValue(field, after, 'must be less than or equal to previous value')];
}

function haveSameNames(next: JSONObject, old: JSONObject, list: string): boolean {
  const names = (spec: JSONObject) => objectsOf(spec, list).map(({ name }) => name);
  return isEqual(names(next), names(old));
}

function withoutMutable(spec: JSONObject): JSONObject {
  const { activeDeadlineSeconds: _deadline, tolerations: _tolerations, ...others } = spec;
  const withoutImages = (list: string) => objectsOf(spec, list).map((container) => ({ ...container, image: '' }));
  return { ...others, containers: withoutImages('containers'), initContainers: withoutImages('initContainers') };
}

/** Source: `ValidatePodSpecificAnnotationUpdates`. */
export function validateAnnotationUpdate(next: StoredObject, old: StoredObject): FieldError[] {
  const [before, after] = [old.metadata.annotations ?? {}, next.metadata.annotations ?? {}];
  const [had, has] = [before[configMirrorAnnotation], after[configMirrorAnnotation]];
  if (had === has) return [];
  const because =
    had === undefined ? 'may not add mirror pod annotation' : 'may not remove or update mirror pod annotation';
  return [forbiddenValue(`metadata.annotations[${configMirrorAnnotation}]`, because)];
}

/** Source: `ValidatePodEphemeralContainersUpdate`. */
export function validateEphemeralContainersUpdate(next: StoredObject, old: StoredObject): FieldError[] {
  if (isMirrorPod(old)) return [forbiddenValue('[]', 'static pods do not support ephemeral containers')];
  const field = 'spec.ephemeralContainers';
  const containers = objectsOf(specOf(next), 'ephemeralContainers');
  return objectsOf(specOf(old), 'ephemeralContainers').flatMap((container) => {
    const found = containers.find(({ name }) => name === container.name);
    const quoted = JSON.stringify(container.name);
    if (found === undefined)
      return [forbiddenValue(field, `existing ephemeral containers ${quoted} may not be removed`)];
    if (isEqual(found, container)) return [];
    return [forbiddenValue(field, `existing ephemeral containers ${quoted} may not be changed`)];
  });
}

/** Source: `ValidatePodResize`. */
export function validateResize(next: StoredObject, old: StoredObject): FieldError[] {
  if (isMirrorPod(old)) return [forbiddenValue('[]', 'static pods cannot be resized')];
  const [before, after] = [specOf(old), specOf(next)];
  if (objectOf(before, 'os').name === 'windows') return [forbiddenValue('[]', 'windows pods cannot be resized')];
  const causes: FieldError[] = [];
  if (computePodQOS({ spec: before }) !== computePodQOS({ spec: after })) {
    const because = 'Pod QOS Class may not change as a result of resizing';
    causes.push(invalidValue('spec', statusOf(old).qosClass, because));
  }
  if (!isResizeSupported(old)) causes.push(forbiddenValue('spec', 'Pod running on node without support for resize'));
  const moved = validateOrder(after, before);
  if (moved.length > 0) return [...causes, ...moved];
  for (const list of ['containers', 'initContainers']) {
    for (const [i, container] of objectsOf(before, list).entries()) {
      causes.push(...validateContainerResize(objectsOf(after, list)[i]!, container, list, `spec.${list}[${i}]`));
    }
  }
  return causes;
}

function validateOrder(next: JSONObject, old: JSONObject): FieldError[] {
  return ['containers', 'initContainers'].flatMap((list) => {
    const [before, after] = [objectsOf(old, list), objectsOf(next, list)];
    if (before.length !== after.length) {
      return [forbiddenValue(`spec.${list}`, 'containers may not be added or removed on resize')];
    }
    const i = before.findIndex(({ name }, i) => name !== after[i]!.name);
    const because = 'containers may not be renamed or reordered on resize';
    return i < 0 ? [] : [forbiddenValue(`spec.${list}[${i}].name`, because)];
  });
}

function validateContainerResize(next: JSONObject, old: JSONObject, list: string, field: string): FieldError[] {
  const [before, after] = [objectOf(old, 'resources'), objectOf(next, 'resources')];
  const isMutable = list === 'containers' || isRestartableInitContainer(old as unknown as Container);
  if (!isMutable) {
    const isSame = isEqual(next, old);
    return isSame ? [] : [forbiddenValue('spec', 'resources for non-sidecar init containers are immutable')];
  }
  const causes: FieldError[] = [];
  for (const kind of ['limits', 'requests']) {
    const removed = Object.keys(objectOf(before, kind)).filter(
      (name) => isResizable(name) && objectOf(after, kind)[name] === undefined,
    );
    if (removed.length > 0) {
      causes.push(forbiddenValue(`${field}.resources.${kind}`, `resource ${kind} cannot be removed`));
    }
  }
  if (!isEqual(withoutResizable(after), withoutResizable(before))) {
    causes.push(forbiddenValue('spec', 'only cpu and memory resources are mutable'));
  }
  return causes;
}

function withoutResizable(resources: JSONObject): JSONObject {
  const rest = { ...resources };
  for (const kind of ['limits', 'requests']) {
    const others = Object.entries(objectOf(resources, kind)).filter(([name]) => !isResizable(name));
    delete rest[kind];
    if (others.length > 0) rest[kind] = Object.fromEntries(others);
  }
  return rest;
}

/** A kubelet that does not report the resources of running containers does not support resize. */
function isResizeSupported(pod: StoredObject): boolean {
  const running = objectsOf(statusOf(pod), 'containerStatuses').find(({ state }) => {
    return isJSONObject(state) && isJSONObject(state.running);
  });
  return running === undefined || running.resources !== undefined;
}
