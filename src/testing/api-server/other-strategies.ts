import {
  decodeInteger,
  decodeMicroTime,
  decodeObject,
  decodeObjects,
  decodeQuantities,
  decodeString,
  decodeTime,
} from './decode.ts';
import { validateMetadata, validateMetadataUpdate } from './metadata.ts';
import { type JSONObject, objectOf, objectsOf, specOf, statusOf, stringOf, withoutNulls } from './objects.ts';
import type { Strategy } from './strategy.ts';

const nodeInfoMembers = [
  'machineID',
  'systemUUID',
  'bootID',
  'kernelVersion',
  'osImage',
  'containerRuntimeVersion',
  'kubeletVersion',
  'kubeProxyVersion',
  'operatingSystem',
  'architecture',
];
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
  decode(object) {
    const spec = withoutNulls(decodeObject(object, 'spec', '') ?? {}) as JSONObject;
    const podCIDR = stringOf(spec, 'podCIDR');
    const podCIDRs = podCIDR === '' || spec.podCIDRs !== undefined ? {} : { podCIDRs: [podCIDR] };
    return { spec: { ...spec, ...podCIDRs }, status: decodeNodeStatus(decodeObject(object, 'status', '') ?? {}) };
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

function decodeNodeStatus(raw: JSONObject): JSONObject {
  const path = 'status';
  const status = withoutNulls(raw) as JSONObject;
  const nodeInfo = objectOf(status, 'nodeInfo');
  const decoded: JSONObject = {
    ...status,
    daemonEndpoints: { kubeletEndpoint: { Port: 0 }, ...objectOf(status, 'daemonEndpoints') },
    nodeInfo: { ...Object.fromEntries(nodeInfoMembers.map((member) => [member, ''])), ...nodeInfo },
  };
  for (const list of ['capacity', 'allocatable']) {
    const quantities = decodeQuantities(raw, list, path);
    if (quantities !== undefined) decoded[list] = quantities;
  }
  const conditions = decodeObjects(raw, 'conditions', path);
  if (conditions !== undefined) {
    decoded.conditions = conditions.map((condition) => ({
      ...(withoutNulls(condition) as JSONObject),
      lastHeartbeatTime: decodeTime(condition, 'lastHeartbeatTime', path),
      lastTransitionTime: decodeTime(condition, 'lastTransitionTime', path),
    }));
  }
  return decoded;
}

/** Source: `registry/coordination/lease/strategy.go`. */
export const leaseStrategy: Strategy = {
  ...plain,
  createOnUpdate: true,
  conditionalUpdateOnly: true,
  decode(object) {
    const raw = decodeObject(object, 'spec', '') ?? {};
    const path = 'spec';
    const acquireTime = decodeMicroTime(raw, 'acquireTime', path);
    const renewTime = decodeMicroTime(raw, 'renewTime', path);
    decodeString(raw, 'holderIdentity', path);
    decodeInteger(raw, 'leaseDurationSeconds', path);
    return {
      spec: {
        ...(withoutNulls(raw) as JSONObject),
        ...(acquireTime === undefined ? {} : { acquireTime }),
        ...(renewTime === undefined ? {} : { renewTime }),
      },
    };
  },
};

/** Events as v1 has them; `events.k8s.io` is another spelling of the same objects. */
export const eventStrategy: Strategy = {
  ...plain,
  createOnUpdate: true,
  decode(object) {
    const {
      kind: _kind,
      apiVersion: _apiVersion,
      metadata: _metadata,
      ...members
    } = withoutNulls(object) as JSONObject;
    return {
      ...members,
      involvedObject: objectOf(members, 'involvedObject'),
      source: objectOf(members, 'source'),
      firstTimestamp: decodeTime(object, 'firstTimestamp', ''),
      lastTimestamp: decodeTime(object, 'lastTimestamp', ''),
      eventTime: decodeMicroTime(object, 'eventTime', '') ?? null,
      reportingComponent: stringOf(members, 'reportingComponent'),
      reportingInstance: stringOf(members, 'reportingInstance'),
    };
  },
};

/** Source: `registry/core/namespace/strategy.go`. */
export const namespaceStrategy: Strategy = {
  ...plain,
  decode(object) {
    const spec = withoutNulls(decodeObject(object, 'spec', '') ?? {}) as JSONObject;
    const status = withoutNulls(decodeObject(object, 'status', '') ?? {}) as JSONObject;
    return { spec, status };
  },
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
