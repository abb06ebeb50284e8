import { disruptionTarget } from '../../status-manager/status/ownership.ts';
import { computePodQOS } from '../../status-manager/status/qos.ts';
import { methodNotAllowed } from '../api-status.ts';
import { validateMetadata } from '../../kube/validation/metadata.ts';
import { validateMetadataUpdate } from '../storage/stored-metadata.ts';
import { type JSONObject, numberOf, objectOf, objectsOf, stringOf } from '../../kube/objects/json-object.ts';
import { specOf, statusOf, type StoredObject } from '../storage/objects.ts';
import { admitPodSpec } from './pod-admission-plugins.ts';
import { withPodSpecDefaults } from '../../kube/pods/pod-defaults.ts';
import { validatePodStatusUpdate, withSyncedPodIPs } from './pod-status.ts';
import {
  onlyEphemeralContainersOf,
  onlyResourcesOf,
  onlySpecOf,
  onlyStatusOf,
  validateAnnotationUpdate,
  validateEphemeralContainersUpdate,
  validateResize,
  validateSpecUpdate,
} from './pod-spec-update.ts';
import { validatePodCreate, validatePodSpec } from '../../kube/validation/pod-spec.ts';
import type { DeleteOptions, Strategy } from './strategy.ts';
import { unreachable } from '../../shared/unreachable.ts';

const gated = { reason: 'SchedulingGated', message: 'Scheduling is blocked due to non-empty scheduling gates' };

/** Source: `registry/core/pod/strategy.go`, `apis/core/validation`. */
export const podStrategy: Strategy = {
  setDefaults(pod) {
    return { spec: withPodSpecDefaults(objectOf(pod, 'spec')), status: withSyncedPodIPs(objectOf(pod, 'status')) };
  },

  prepareForCreate(object, now) {
    const spec = admitPodSpec(specOf(object));
    const status = { phase: 'Pending', qosClass: computePodQOS({ spec }) };
    const isGated = objectsOf(spec, 'schedulingGates').length > 0;
    return {
      ...object,
      metadata: { ...object.metadata, generation: 1 },
      spec,
      status: isGated ? withCondition(status, { type: 'PodScheduled', status: 'False', ...gated }, now) : status,
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
      case 'token':
        throw methodNotAllowed();
      default:
        return unreachable(subresource);
    }
  },

  validateCreate(pod) {
    const spec = specOf(pod);
    return [...validateMetadata(pod.metadata), ...validatePodSpec(spec), ...validatePodCreate(spec)];
  },

  validateUpdate(next, old, subresource) {
    const causes = [...validateMetadata(next.metadata), ...validateMetadataUpdate(next, old)];
    if (subresource === 'status') return [...causes, ...validatePodStatusUpdate(next, old)];
    causes.push(...validatePodSpec(specOf(next)));
    if (subresource === 'resize') return [...causes, ...validateResize(next, old)];
    causes.push(...validateAnnotationUpdate(next, old));
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
    status: withCondition(statusOf(pod), { type: 'PodScheduled', status: 'True' }, now),
  };
}

/** The pod with the condition that an eviction leaves. Source: `EvictionREST`. */
export function evictedPod(pod: StoredObject, now: string): StoredObject {
  const words = { reason: 'EvictionByEvictionAPI', message: 'Eviction API: evicting' };
  return { ...pod, status: withCondition(statusOf(pod), { type: disruptionTarget, status: 'True', ...words }, now) };
}

function withCondition(status: JSONObject, condition: JSONObject, now: string): JSONObject {
  const others = objectsOf(status, 'conditions').filter(({ type }) => type !== condition.type);
  return { ...status, conditions: [...others, { lastProbeTime: null, lastTransitionTime: now, ...condition }] };
}
