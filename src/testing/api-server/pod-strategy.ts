import { disruptionTarget } from '../../status/ownership.ts';
import { computePodQOS } from '../../status/qos.ts';
import { methodNotAllowed, requiredValue, type StatusCause, invalidValue, unsupportedValue } from './api-status.ts';
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
import { admitPodSpec, withPodSpecDefaults } from './pod-defaults.ts';
import { validatePodStatusUpdate, withSyncedPodIPs } from './pod-status.ts';
import {
  onlyEphemeralContainersOf,
  onlyResourcesOf,
  onlySpecOf,
  onlyStatusOf,
  validateEphemeralContainersUpdate,
  validateResize,
  validateSpecUpdate,
} from './pod-update.ts';
import type { DeleteOptions, Strategy } from './strategy.ts';
import { unreachable } from './unreachable.ts';

const restartPolicies = ['Always', 'OnFailure', 'Never'];
/** Source: `registry/core/pod/strategy.go`, `apis/core/validation`. */
export const podStrategy: Strategy = {
  setDefaults(pod) {
    return { spec: withPodSpecDefaults(objectOf(pod, 'spec')), status: withSyncedPodIPs(objectOf(pod, 'status')) };
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
    switch (subresource) {
      case '':
        return onlySpecOf(next, old);
      case 'status':
        return onlyStatusOf(next, old);
      case 'resize':
        return onlyResourcesOf(next, old);
      case 'ephemeralcontainers':
        return onlyEphemeralContainersOf(next, old);
      case 'binding':
      case 'eviction':
        throw methodNotAllowed();
      default:
        return unreachable(subresource);
    }
  },

  validateCreate(pod) {
    return [...validateMetadata(pod.metadata), ...validatePodSpec(specOf(pod))];
  },

  validateUpdate(next, old, subresource) {
    const causes = [...validateMetadata(next.metadata), ...validateMetadataUpdate(next, old)];
    if (subresource === 'status') return [...causes, ...validatePodStatusUpdate(next, old)];
    causes.push(...validatePodSpec(specOf(next)));
    if (subresource === 'resize') return [...causes, ...validateResize(next, old)];
    if (subresource === 'ephemeralcontainers') return [...causes, ...validateEphemeralContainersUpdate(next, old)];
    return [...causes, ...validateSpecUpdate(specOf(next), specOf(old))];
  },

  gracePeriodSeconds(pod, options: DeleteOptions) {
    const phase = stringOf(statusOf(pod), 'phase');
    const isUnscheduled = stringOf(specOf(pod), 'nodeName') === '';
    if (isUnscheduled || phase === 'Succeeded' || phase === 'Failed') return 0;
    const seconds = options.gracePeriodSeconds ?? numberOf(specOf(pod), 'terminationGracePeriodSeconds');
    return seconds < 0 ? 1 : seconds;
  },
};

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

/**
 * The pod bound to a node by the `binding` subresource.
 * Source: `registry/core/pod/storage` `BindingREST`.
 */
export function boundPod(pod: StoredObject, binding: JSONObject, now: string): StoredObject {
  const annotations = { ...pod.metadata.annotations, ...objectOf(objectOf(binding, 'metadata'), 'annotations') };
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      ...(Object.keys(annotations).length === 0 ? {} : { annotations: annotations as Record<string, string> }),
    },
    spec: { ...specOf(pod), nodeName: stringOf(objectOf(binding, 'target'), 'name') },
    status: withCondition(statusOf(pod), 'PodScheduled', {}, now),
  };
}

/** The pod with the condition that an eviction leaves. Source: `EvictionREST`. */
export function evictedPod(pod: StoredObject, now: string): StoredObject {
  const words = { reason: 'EvictionByEvictionAPI', message: 'Eviction API: evicting' };
  return { ...pod, status: withCondition(statusOf(pod), disruptionTarget, words, now) };
}

function withCondition(status: JSONObject, type: string, words: JSONObject, now: string): JSONObject {
  const others = objectsOf(status, 'conditions').filter((condition) => condition.type !== type);
  const condition = { type, status: 'True', lastProbeTime: null, lastTransitionTime: now, ...words };
  return { ...status, conditions: [...others, condition] };
}
