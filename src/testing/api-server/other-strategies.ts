import { validateMetadata, validateMetadataUpdate } from './metadata.ts';
import { type JSONObject, objectOf, objectsOf, specOf, statusOf, stringOf } from './objects.ts';
import type { Strategy } from './strategy.ts';

const notReadyTaint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };

const plain: Pick<Strategy, 'prepareForCreate' | 'prepareForUpdate' | 'validateCreate' | 'validateUpdate'> = {
  prepareForCreate: (object) => object,
  prepareForUpdate: (next) => next,
  validateCreate: (object) => validateMetadata(object.metadata),
  validateUpdate: (next, old) => [...validateMetadata(next.metadata), ...validateMetadataUpdate(next, old)],
};

/** Source: `registry/core/node/strategy.go` and the TaintNodesByCondition admission plugin. */
export const nodeStrategy: Strategy = {
  ...plain,
  setDefaults(node) {
    const spec = objectOf(node, 'spec');
    const status = objectOf(node, 'status');
    const podCIDR = stringOf(spec, 'podCIDR');
    const podCIDRs = podCIDR === '' || spec.podCIDRs !== undefined ? {} : { podCIDRs: [podCIDR] };
    const { capacity } = status;
    return {
      spec: { ...spec, ...podCIDRs },
      status: { ...(capacity === undefined ? {} : { allocatable: capacity }), ...status },
    };
  },
  prepareForCreate(node) {
    const spec = specOf(node);
    const taints = objectsOf(spec, 'taints').filter(({ key }) => key !== notReadyTaint.key);
    return { ...node, spec: { ...spec, taints: [...taints, notReadyTaint] } };
  },
  prepareForUpdate(next, old, subresource) {
    return subresource === 'status' ? { ...next, spec: specOf(old) } : { ...next, status: statusOf(old) };
  },
};

/** Source: `registry/coordination/lease/strategy.go`. */
export const leaseStrategy: Strategy = {
  ...plain,
  createOnUpdate: true,
  conditionalUpdateOnly: true,
  setDefaults: (lease) => lease,
};

/** Events as v1 has them; `events.k8s.io` is another spelling of the same objects. */
export const eventStrategy: Strategy = {
  ...plain,
  createOnUpdate: true,
  setDefaults: (event) => event,
};

/** Source: `registry/core/namespace/strategy.go`. */
export const namespaceStrategy: Strategy = {
  ...plain,
  setDefaults: (namespace) => namespace,
  prepareForCreate(namespace) {
    return {
      ...namespace,
      metadata: {
        ...namespace.metadata,
        labels: { ...namespace.metadata.labels, 'kubernetes.io/metadata.name': namespace.metadata.name },
      },
      spec: { finalizers: ['kubernetes'] },
      status: { phase: 'Active' },
    };
  },
  prepareForUpdate(next, old, subresource) {
    return subresource === 'status'
      ? { ...next, spec: specOf(old) }
      : { ...next, spec: specOf(old), status: statusOf(old) };
  },
};

const eventMembers: readonly (readonly [string, string])[] = [
  ['involvedObject', 'regarding'],
  ['message', 'note'],
  ['source', 'deprecatedSource'],
  ['firstTimestamp', 'deprecatedFirstTimestamp'],
  ['lastTimestamp', 'deprecatedLastTimestamp'],
  ['count', 'deprecatedCount'],
  ['reportingComponent', 'reportingController'],
];

/** An event of `events.k8s.io` in the members of v1. */
export function eventFromEventsAPI(event: JSONObject): JSONObject {
  return renamed(event, new Map(eventMembers.map(([core, other]) => [other, core])));
}

/** A v1 event in the members of `events.k8s.io`. */
export function eventToEventsAPI(event: JSONObject): JSONObject {
  return { ...renamed(event, new Map(eventMembers)), apiVersion: 'events.k8s.io/v1' };
}

function renamed(object: JSONObject, names: ReadonlyMap<string, string>): JSONObject {
  return Object.fromEntries(Object.entries(object).map(([member, value]) => [names.get(member) ?? member, value]));
}
