import isEqual from 'lodash/isEqual.js';
import { computePodQOS } from '../../status/qos.ts';
import { forbiddenValue, requiredValue, type StatusCause, invalidValue, unsupportedValue } from './api-status.ts';
import { decodeObject } from './decode.ts';
import { isDomainLabel, validateMetadata, validateMetadataUpdate } from './metadata.ts';
import {
  type JSONObject,
  numberOf,
  objectOf,
  objectsOf,
  specOf,
  statusOf,
  stringOf,
  type StoredObject,
} from './objects.ts';
import { admitPodSpec, decodePodSpec, withDefaultTolerations } from './pod-defaults.ts';
import { decodePodStatus, validatePodStatusUpdate, withKnownStatus } from './pod-status.ts';
import type { DeleteOptions, Strategy } from './strategy.ts';

const restartPolicies = ['Always', 'OnFailure', 'Never'];
const mutableSpec =
  'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';

/** Source: `registry/core/pod/strategy.go`, `apis/core/validation`. */
export const podStrategy: Strategy = {
  decode(object) {
    return {
      spec: decodePodSpec(decodeObject(object, 'spec', '') ?? {}),
      status: decodePodStatus(decodeObject(object, 'status', '') ?? {}),
    };
  },

  prepareForCreate(object) {
    const spec = admitPodSpec(specOf(object));
    return {
      ...object,
      metadata: { ...object.metadata, generation: 1 },
      spec,
      status: { phase: 'Pending', qosClass: computePodQOS({ spec }) },
    };
  },

  prepareForUpdate(next, old, subresource) {
    return subresource === 'status' ? onlyStatusOf(next, old) : onlySpecOf(next, old);
  },

  validateCreate(pod) {
    return [...validateMetadata(pod.metadata), ...validatePodSpec(specOf(pod))];
  },

  validateUpdate(next, old, subresource) {
    const causes = [...validateMetadata(next.metadata), ...validateMetadataUpdate(next, old)];
    if (subresource === 'status') return [...causes, ...validatePodStatusUpdate(next, old)];
    return [...causes, ...validatePodSpec(specOf(next)), ...validatePodSpecUpdate(specOf(next), specOf(old))];
  },

  gracePeriodSeconds(pod, options: DeleteOptions) {
    const phase = stringOf(statusOf(pod), 'phase');
    const isUnscheduled = stringOf(specOf(pod), 'nodeName') === '';
    if (isUnscheduled || phase === 'Succeeded' || phase === 'Failed') return 0;
    const seconds = options.gracePeriodSeconds ?? numberOf(specOf(pod), 'terminationGracePeriodSeconds');
    return seconds < 0 ? 1 : seconds;
  },
};

/** A status request changes the status, and of the metadata labels, annotations and finalizers. */
function onlyStatusOf(next: StoredObject, old: StoredObject): StoredObject {
  const {
    generateName: _generateName,
    ownerReferences: _ownerReferences,
    generation: _generation,
    ...metadata
  } = next.metadata;
  const { generateName, ownerReferences, generation, deletionTimestamp } = old.metadata;
  return {
    ...old,
    metadata: {
      ...metadata,
      ...(generateName === undefined ? {} : { generateName }),
      ...(ownerReferences === undefined ? {} : { ownerReferences }),
      ...(generation === undefined ? {} : { generation }),
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    },
    status: withKnownStatus(statusOf(next), statusOf(old)),
  };
}

function onlySpecOf(next: StoredObject, old: StoredObject): StoredObject {
  const spec = withDefaultTolerations(specOf(next));
  const generation = (old.metadata.generation ?? 0) + (isEqual(spec, specOf(old)) ? 0 : 1);
  return { ...next, metadata: { ...next.metadata, generation }, spec, status: statusOf(old) };
}

function validatePodSpec(spec: JSONObject): StatusCause[] {
  const causes: StatusCause[] = [];
  const containers = objectsOf(spec, 'containers');
  if (containers.length === 0) causes.push(requiredValue('spec.containers'));
  const names = new Set<string>();
  for (const list of ['containers', 'initContainers']) {
    for (const [i, container] of objectsOf(spec, list).entries()) {
      const field = `spec.${list}[${i}]`;
      const name = stringOf(container, 'name');
      if (name === '') causes.push(requiredValue(`${field}.name`));
      else if (!isDomainLabel(name))
        causes.push(invalidValue(`${field}.name`, name, 'a lowercase RFC 1123 label is required'));
      if (names.has(name) && name !== '') causes.push(duplicateValue(`${field}.name`, name));
      names.add(name);
      if (stringOf(container, 'image') === '') causes.push(requiredValue(`${field}.image`));
    }
  }
  if (!restartPolicies.includes(String(spec.restartPolicy))) {
    causes.push(unsupportedValue('spec.restartPolicy', spec.restartPolicy, restartPolicies));
  }
  if (numberOf(spec, 'terminationGracePeriodSeconds') < 0) {
    const field = 'spec.terminationGracePeriodSeconds';
    causes.push(invalidValue(field, spec.terminationGracePeriodSeconds, 'must be greater than or equal to 0'));
  }
  return causes;
}

function duplicateValue(field: string, value: string): StatusCause {
  return { reason: 'FieldValueDuplicate', message: `Duplicate value: ${JSON.stringify(value)}`, field };
}

function validatePodSpecUpdate(next: JSONObject, old: JSONObject): StatusCause[] {
  for (const list of ['containers', 'initContainers']) {
    if (objectsOf(next, list).length !== objectsOf(old, list).length || !haveSameNames(next, old, list)) {
      return [forbiddenValue(`spec.${list}`, 'pod updates may not add or remove containers')];
    }
  }
  const lost = objectsOf(old, 'tolerations').some(
    (toleration) => !objectsOf(next, 'tolerations').some((other) => isEqual(other, toleration)),
  );
  if (lost || !isEqual(withoutMutable(next), withoutMutable(old))) return [forbiddenValue('spec', mutableSpec)];
  return [];
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

/**
 * The pod bound to a node by the `binding` subresource.
 * Source: `registry/core/pod/storage` `BindingREST`.
 */
export function boundPod(pod: StoredObject, binding: JSONObject, now: string): StoredObject {
  const status = statusOf(pod);
  const others = objectsOf(status, 'conditions').filter(({ type }) => type !== 'PodScheduled');
  const annotations = { ...pod.metadata.annotations, ...objectOf(objectOf(binding, 'metadata'), 'annotations') };
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      ...(Object.keys(annotations).length === 0 ? {} : { annotations: annotations as Record<string, string> }),
    },
    spec: { ...specOf(pod), nodeName: stringOf(objectOf(binding, 'target'), 'name') },
    status: {
      ...status,
      conditions: [...others, { type: 'PodScheduled', status: 'True', lastProbeTime: null, lastTransitionTime: now }],
    },
  };
}
