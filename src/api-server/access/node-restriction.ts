import isEqual from 'lodash/isEqual.js';
import type { ForeignStatusField } from '../../status-manager/status/ownership.ts';
import { configMirrorAnnotation, isMirrorPod } from '../../kube/pods/static-pods.ts';
import { forbidden, notFound } from '../api-status.ts';
import { nodeOf } from './node-authorizer.ts';
import { apiObjectReference } from '../../kube/objects/api-object-reference.ts';
import { isJSONObject, objectOf, objectsOf, stringOf } from '../../kube/objects/json-object.ts';
import { specOf, statusOf, type StoredObject } from '../storage/objects.ts';
import type { Admission } from '../registry.ts';
import type { ObjectStore } from '../storage/store.ts';

/** Kubernetes' own labels that a kubelet sets. Source: `k8s.io/kubelet/pkg/apis/well_known_labels.go`. */
const kubeletLabels = new Set([
  'beta.kubernetes.io/arch',
  'beta.kubernetes.io/instance-type',
  'beta.kubernetes.io/os',
  'failure-domain.beta.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.kubernetes.io/region',
  'failure-domain.kubernetes.io/zone',
  'kubernetes.io/arch',
  'kubernetes.io/hostname',
  'kubernetes.io/os',
  'node.kubernetes.io/instance-type',
  'topology.kubernetes.io/region',
  'topology.kubernetes.io/zone',
]);

/** Fields of a pod status that a node may not write, with their names in error messages, in the order of the checks. */
const nameOfForeignField: Readonly<Record<ForeignStatusField, string>> = {
  resourceClaimStatuses: 'resource claim statues',
  nodeAllocatableResourceClaimStatuses: 'node allocatable resource claim statuses',
  extendedResourceClaimStatus: 'extended resource claim status',
};

/**
 * Admission of the writes of a node's user.
 * @throws APIStatusError 403
 * Source: `plugin/pkg/admission/noderestriction`.
 */
export function admitNodeUser(node: string, admission: Admission, store: ObjectStore): void {
  const { definition, name } = admission.target;
  const reason = admissionRefusal(node, admission, store);
  if (reason !== undefined) throw forbidden(definition, name || (admission.next?.metadata.name ?? ''), reason);
}

function admissionRefusal(node: string, admission: Admission, store: ObjectStore): string | undefined {
  const { operation, target, next, old } = admission;
  switch (target.definition.resource) {
    case 'pods':
      if (target.subresource === 'eviction') {
        return old !== undefined && nodeOf(old) !== node
          ? `node ${node} can only evict pods with spec.nodeName set to itself`
          : undefined;
      }
      if (operation === 'create' && next !== undefined) return mirrorPodRefusal(node, next, store);
      if (operation === 'delete' && old !== undefined && nodeOf(old) !== node) {
        return `node "${node}" can only delete pods with spec.nodeName set to itself`;
      }
      if (operation === 'update' && old !== undefined) return podStatusRefusal(node, next, old);
      return undefined;
    case 'nodes':
      return nodeRefusal(node, admission);
    case 'serviceaccounts':
      return next === undefined ? undefined : tokenRefusal(node, target.namespace, next, store);
    case 'leases':
      if (operation === 'create' && next?.metadata.name !== node) {
        return 'can only access node lease with the same name as the requesting node';
      }
      return undefined;
    default:
      return undefined;
  }
}

function mirrorPodRefusal(node: string, pod: StoredObject, store: ObjectStore): string | undefined {
  if (!isMirrorPod(pod)) {
    return `pod does not have "${configMirrorAnnotation}" annotation, node "${node}" can only create mirror pods`;
  }
  const only = `node "${node}" can only create pods with`;
  if (nodeOf(pod) !== node) return `${only} spec.nodeName set to itself`;
  const { ownerReferences: owners = [] } = pod.metadata;
  const [owner] = owners;
  if (owners.length > 1) return `${only} a single owner reference set to itself`;
  if (owner === undefined) return `${only} an owner reference set to itself`;
  if (owner.apiVersion !== 'v1' || owner.kind !== 'Node' || owner.name !== node)
    return `${only} an owner reference set to itself`;
  if (owner.controller !== true) return `${only} a controller owner reference set to itself`;
  if (owner.blockOwnerDeletion === true) return `node "${node}" must not set blockOwnerDeletion on an owner reference`;
  const uid = store.get('nodes', '', node)?.metadata.uid;
  if (uid === undefined) return `node ${node} not found`;
  if (uid !== owner.uid) return `node ${node} UID mismatch: expected ${owner.uid} got ${uid}`;
  const reference = apiObjectReference(specOf(pod));
  return reference === undefined ? undefined : `node "${node}" can not create pods that reference ${reference}`;
}

/** A node gets tokens that are bound to its pods, for audiences that they name. Source: `admitServiceAccount` */
function tokenRefusal(node: string, namespace: string, request: StoredObject, store: ObjectStore): string | undefined {
  const reference = objectOf(specOf(request), 'boundObjectRef');
  const [apiVersion, kind, name = '', uid] = ['apiVersion', 'kind', 'name', 'uid'].map((field) =>
    stringOf(reference, field),
  );
  if (apiVersion !== 'v1' || kind !== 'Pod' || name === '') return 'node requested token not bound to a pod';
  if (uid === '') return 'node requested token with a pod binding without a uid';
  const pod = store.get('pods', namespace, name);
  // The message of a lister, which differs from that of a request.
  if (pod === undefined) throw notFound({ group: '', resource: 'pod', kind: 'Pod' }, name);
  if (pod.metadata.uid !== uid) {
    return `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`;
  }
  if (nodeOf(pod) !== node) return 'node requested token bound to a pod scheduled on a different node';
  const [audience = '', ...more] = (specOf(request).audiences ?? []) as readonly string[];
  if (more.length > 0) return 'node may only request 0 or 1 audiences';
  const sources = objectsOf(specOf(pod), 'volumes').flatMap((volume) =>
    objectsOf(objectOf(volume, 'projected'), 'sources'),
  );
  const isNamed = sources.some(
    ({ serviceAccountToken: token }) => isJSONObject(token) && stringOf(token, 'audience') === audience,
  );
  if (isNamed) return undefined;
  return `system:node:${node} is not authorized to request tokens for audience ${JSON.stringify(audience)}`;
}

function podStatusRefusal(node: string, next: StoredObject | undefined, old: StoredObject): string | undefined {
  if (nodeOf(old) !== node)
    return `node "${node}" can only update pod status for pods with spec.nodeName set to itself`;
  if (!isEqual(next?.metadata.labels, old.metadata.labels))
    return `node "${node}" cannot update labels through pod status`;
  const changed = Object.entries(nameOfForeignField).find(
    ([field]) => !isEqual(claimsOf(next, field), claimsOf(old, field)),
  );
  return changed === undefined ? undefined : `node "${node}" cannot update ${changed[1]}`;
}

function claimsOf(pod: StoredObject | undefined, field: string): unknown {
  return pod === undefined ? undefined : statusOf(pod)[field];
}

function nodeRefusal(node: string, { operation, target, next, old }: Admission): string | undefined {
  const name = target.name || (next?.metadata.name ?? '');
  if (name !== node) return `node "${node}" is not allowed to modify node "${name}"`;
  if (next === undefined || operation === 'delete') return undefined;
  return operation === 'create' || old === undefined ? newNodeRefusal(node, next) : changedNodeRefusal(node, next, old);
}

function newNodeRefusal(node: string, next: StoredObject): string | undefined {
  if (isJSONObject(specOf(next).configSource)) {
    return `node "${node}" is not allowed to create pods with a non-nil configSource`;
  }
  const labels = forbiddenLabels(next, undefined);
  if (labels.length === 0) return undefined;
  return `node "${node}" is not allowed to set the following labels: ${labels.join(', ')}`;
}

function changedNodeRefusal(node: string, next: StoredObject, old: StoredObject): string | undefined {
  const [before, after] = [specOf(old), specOf(next)];
  if (after.configSource !== undefined && !isEqual(after.configSource, before.configSource)) {
    return `node "${node}" is not allowed to update configSource to a new non-nil configSource`;
  }
  if (!isEqual(objectsOf(after, 'taints'), objectsOf(before, 'taints'))) {
    return `node "${node}" is not allowed to modify taints`;
  }
  if (!isEqual(next.metadata.ownerReferences, old.metadata.ownerReferences)) {
    return `node "${node}" is not allowed to modify ownerReferences`;
  }
  const labels = forbiddenLabels(next, old);
  return labels.length === 0 ? undefined : `is not allowed to modify labels: ${labels.join(', ')}`;
}

/** Modified labels that a kubelet may not set. */
function forbiddenLabels(next: StoredObject, old: StoredObject | undefined): string[] {
  const [before, after] = [old?.metadata.labels ?? {}, next.metadata.labels ?? {}];
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].filter((name) => before[name] !== after[name] && isRestricted(name)).sort();
}

function isRestricted(label: string): boolean {
  const [prefix = ''] = label.includes('/') ? label.split('/') : [];
  const isIn = (domain: string) => prefix === domain || prefix.endsWith(`.${domain}`);
  if (isIn('node-restriction.kubernetes.io')) return true;
  const isKubelet = kubeletLabels.has(label) || isIn('kubelet.kubernetes.io') || isIn('node.kubernetes.io');
  return (isIn('kubernetes.io') || isIn('k8s.io')) && !isKubelet;
}
