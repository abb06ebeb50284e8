import isEqual from 'lodash/isEqual.js';
import type { ForeignStatusMember } from '../../status/ownership.ts';
import { configMirrorAnnotation, isMirrorPod } from '../../status/static-pods.ts';
import { forbidden } from './api-status.ts';
import { objectsOf, specOf, statusOf, stringOf, type StoredObject } from './objects.ts';
import type { Admission, Target } from './registry.ts';
import { requiredFieldValue } from './selectors.ts';
import type { ObjectStore } from './store.ts';
import type { User } from './users.ts';

const leaseNamespace = 'kube-node-lease';

/** What refusals call the members of a pod status that a node may not write, in the order in which they are checked. */
const nameOfForeignMember: Readonly<Record<ForeignStatusMember, string>> = {
  resourceClaimStatuses: 'resource claim statues',
  nodeAllocatableResourceClaimStatuses: 'node allocatable resource claim statuses',
  extendedResourceClaimStatus: 'extended resource claim status',
};

/** What is asked for, as far as the question of who may ask goes. */
export interface Attributes extends Target {
  readonly verb: string;
  readonly fieldSelector: string;
}

/**
 * What a node's own user may ask for: its pods, its Node, its Lease, and to report Events. All
 * other users may do everything.
 * @throws ApiStatusError 403
 * Source: `plugin/pkg/auth/authorizer/node`.
 */
export function authorize(user: User, attributes: Attributes, store: ObjectStore): void {
  const { node } = user;
  if (node === undefined) return;
  const reason = refusalFor(node, attributes, store);
  if (reason === undefined) return;
  const { definition, namespace, verb, subresource } = attributes;
  const scope = namespace === '' ? 'at the cluster scope' : `in the namespace "${namespace}"`;
  const resource = subresource === '' ? definition.resource : `${definition.resource}/${subresource}`;
  const because = `User "${user.name}" cannot ${verb} resource "${resource}" in API group "${definition.group}" ${scope}`;
  throw forbidden(definition, attributes.name, reason === '' ? because : `${because}: ${reason}`);
}

/** Undefined: allowed; else the reason, which may be empty. */
function refusalFor(node: string, attributes: Attributes, store: ObjectStore): string | undefined {
  switch (attributes.definition.resource) {
    case 'pods':
      return refusalForPods(node, attributes, store);
    case 'nodes':
      return refusalForNodes(node, attributes);
    case 'leases':
      return refusalForLeases(node, attributes);
    case 'events':
      return ['create', 'update', 'patch'].includes(attributes.verb) ? undefined : '';
    default:
      return '';
  }
}

function refusalForPods(node: string, attributes: Attributes, store: ObjectStore): string | undefined {
  const { verb, subresource, namespace, fieldSelector } = attributes;
  const name = attributes.name || (requiredFieldValue(fieldSelector, 'metadata.name') ?? '');
  if (subresource === 'status') return verb === 'patch' || verb === 'update' ? undefined : '';
  if (subresource !== '') return '';
  switch (verb) {
    case 'get':
    case 'list':
    case 'watch': {
      // A list by name counts as a get.
      if (name === '') {
        const isOwn = requiredFieldValue(fieldSelector, 'spec.nodeName') === node;
        return isOwn ? undefined : 'node: can only list/watch pods with spec.nodeName field selector';
      }
      const pod = store.get('pods', namespace, name);
      const isBound = pod !== undefined && nodeOf(pod) === node;
      return isBound ? undefined : `node: no relationship found between node '${node}' and this object`;
    }
    case 'create':
    case 'delete':
      return undefined;
    default:
      return '';
  }
}

function refusalForNodes(node: string, { verb, name, subresource, fieldSelector }: Attributes): string | undefined {
  if (['create', 'update', 'patch'].includes(verb)) return undefined;
  if (!['get', 'list', 'watch'].includes(verb) || subresource !== '') return '';
  const wanted = name || (requiredFieldValue(fieldSelector, 'metadata.name') ?? '');
  if (wanted === node) return undefined;
  const others = wanted === '' ? 'all nodes' : `'${wanted}'`;
  return `node: node '${node}' cannot read ${others}, only its own Node object`;
}

function refusalForLeases(node: string, { verb, namespace, name }: Attributes): string | undefined {
  if (!['get', 'create', 'update', 'patch', 'delete'].includes(verb)) {
    return 'node: can only get, create, update, patch, or delete a node lease';
  }
  if (namespace !== leaseNamespace) return `node: can only access leases in the "${leaseNamespace}" system namespace`;
  if (verb === 'create' || name === node) return undefined;
  return 'node: can only access node lease with the same name as the requesting node';
}

/**
 * What a node's own user may write.
 * @throws ApiStatusError 403
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
      if (operation === 'create' && next !== undefined) return mirrorPodRefusal(node, next, store);
      if (operation === 'delete' && old !== undefined && nodeOf(old) !== node) {
        return `node "${node}" can only delete pods with spec.nodeName set to itself`;
      }
      if (operation === 'update' && old !== undefined) return podStatusRefusal(node, next, old);
      return undefined;
    case 'nodes':
      return nodeRefusal(node, admission);
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
  const uid = store.get('nodes', '', node)?.metadata.uid;
  if (uid === undefined) return `node ${node} not found`;
  if (uid !== owner.uid) return `node ${node} UID mismatch: expected ${owner.uid} got ${uid}`;
  return undefined;
}

function podStatusRefusal(node: string, next: StoredObject | undefined, old: StoredObject): string | undefined {
  if (nodeOf(old) !== node)
    return `node "${node}" can only update pod status for pods with spec.nodeName set to itself`;
  if (!isEqual(next?.metadata.labels, old.metadata.labels))
    return `node "${node}" cannot update labels through pod status`;
  const changed = Object.entries(nameOfForeignMember).find(
    ([member]) => !isEqual(claimsOf(next, member), claimsOf(old, member)),
  );
  return changed === undefined ? undefined : `node "${node}" cannot update ${changed[1]}`;
}

function claimsOf(pod: StoredObject | undefined, member: string): unknown {
  return pod === undefined ? undefined : statusOf(pod)[member];
}

function nodeRefusal(node: string, { operation, target, next, old }: Admission): string | undefined {
  const name = target.name || (next?.metadata.name ?? '');
  if (name !== node) return `node "${node}" is not allowed to modify node "${name}"`;
  if (operation !== 'update' || next === undefined || old === undefined) return undefined;
  const isSame = isEqual(objectsOf(specOf(next), 'taints'), objectsOf(specOf(old), 'taints'));
  return isSame ? undefined : `node "${node}" is not allowed to modify taints`;
}

function nodeOf(pod: StoredObject): string {
  return stringOf(specOf(pod), 'nodeName');
}
