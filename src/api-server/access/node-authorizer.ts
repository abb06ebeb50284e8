import { forbidden } from '../api-status.ts';
import { specOf, type StoredObject } from '../storage/objects.ts';
import { stringOf } from '../../kube/objects/json-object.ts';
import { isMirrorPod } from '../../kube/pods/static-pods.ts';
import { podConfigMapNames, podSecretNames } from '../../kube/objects/api-object-reference.ts';
import type { Target } from '../http/target.ts';
import { requiredFieldValue } from '../storage/selectors.ts';
import type { ObjectStore } from '../storage/store.ts';
import { isAdmin, type User } from './users.ts';

const leaseNamespace = 'kube-node-lease';

/** The attributes of a request that authorization depends on. */
export interface Attributes extends Target {
  readonly verb: string;
  readonly fieldSelector: string;
}

/**
 * Authorizes the requests of a node's user: for its pods and what these refer to, for its Node and Lease, for reading
 * Services, and for creating Events. The admin may do everything, and a ServiceAccount nothing, as without RBAC objects.
 * @throws APIStatusError 403
 * Source: `plugin/pkg/auth/authorizer/node`.
 */
export function authorize(user: User, attributes: Attributes, store: ObjectStore): void {
  if (isAdmin(user)) return;
  const reason = user.node === undefined ? '' : refusalFor(user.node, attributes, store);
  if (reason === undefined) return;
  const { definition, namespace, verb, subresource } = attributes;
  const scope = namespace === '' ? 'at the cluster scope' : `in the namespace "${namespace}"`;
  const resource = subresource === '' ? definition.resource : `${definition.resource}/${subresource}`;
  const because = `User "${user.name}" cannot ${verb} resource "${resource}" in API group "${definition.group}" ${scope}`;
  throw forbidden(definition, nameOf(attributes), reason === '' ? because : `${because}: ${reason}`);
}

/** The reason for refusing the request, possibly empty; undefined if it is allowed. */
function refusalFor(node: string, attributes: Attributes, store: ObjectStore): string | undefined {
  switch (attributes.definition.resource) {
    case 'pods':
      return refusalForPods(node, attributes, store);
    case 'nodes':
      return refusalForNodes(node, attributes);
    case 'leases':
      return refusalForLeases(node, attributes);
    case 'secrets':
      return refusalForRead(node, attributes, store, (pod) => podSecretNames(specOf(pod)));
    case 'configmaps':
      return refusalForRead(node, attributes, store, (pod) => podConfigMapNames(specOf(pod)));
    case 'serviceaccounts':
      return refusalForServiceAccounts(node, attributes, store);
    case 'services':
      return ['get', 'list', 'watch'].includes(attributes.verb) ? undefined : '';
    case 'events':
      return ['create', 'update', 'patch'].includes(attributes.verb) ? undefined : '';
    default:
      return '';
  }
}

function refusalForPods(node: string, attributes: Attributes, store: ObjectStore): string | undefined {
  const { verb, subresource, namespace, fieldSelector } = attributes;
  const name = nameOf(attributes);
  if (subresource === 'status') return verb === 'patch' || verb === 'update' ? undefined : '';
  if (subresource === 'eviction') return verb === 'create' ? undefined : '';
  if (subresource !== '') return '';
  switch (verb) {
    case 'get':
    case 'list':
    case 'watch': {
      if (name === '') {
        const isOwn = requiredFieldValue(fieldSelector, 'spec.nodeName') === node;
        return isOwn ? undefined : 'node: can only list/watch pods with spec.nodeName field selector';
      }
      const pod = store.get('pods', namespace, name);
      const isBound = pod !== undefined && nodeOf(pod) === node;
      return isBound ? undefined : unrelated(node);
    }
    case 'create':
    case 'delete':
      return undefined;
    default:
      return '';
  }
}

/** The node may read a single object that one of its pods names. */
function refusalForRead(
  node: string,
  attributes: Attributes,
  store: ObjectStore,
  namesIn: (pod: StoredObject) => readonly string[],
): string | undefined {
  const { verb, namespace } = attributes;
  const name = nameOf(attributes);
  if (!['get', 'list', 'watch'].includes(verb)) return 'node: can only read resources of this type';
  if (namespace === '') return 'node: can only read namespaced object of this type';
  if (name === '') return 'node: No Object name found';
  const pods = store.list('pods', namespace, (pod) => nodeOf(pod) === node && !isMirrorPod(pod));
  return pods.some((pod) => namesIn(pod).includes(name)) ? undefined : unrelated(node);
}

function refusalForServiceAccounts(node: string, attributes: Attributes, store: ObjectStore): string | undefined {
  const { verb, name, subresource } = attributes;
  if (!(verb === 'get' && subresource === '')) {
    if (verb !== 'create' || name === '') return 'node: can only create tokens for individual service accounts';
    if (subresource !== 'token') return 'node: can only create token subresource of serviceaccount';
  }
  const namesIn = (pod: StoredObject) => [stringOf(specOf(pod), 'serviceAccountName')];
  return refusalForRead(node, { ...attributes, verb: 'get' }, store, namesIn);
}

/** A list by name is treated as a get. */
function nameOf({ name, fieldSelector }: Attributes): string {
  return name || (requiredFieldValue(fieldSelector, 'metadata.name') ?? '');
}

function unrelated(node: string): string {
  return `node: no relationship found between node '${node}' and this object`;
}

function refusalForNodes(node: string, attributes: Attributes): string | undefined {
  const { verb, subresource } = attributes;
  if (['create', 'update', 'patch'].includes(verb)) return undefined;
  if (!['get', 'list', 'watch'].includes(verb) || subresource !== '') return '';
  const wanted = nameOf(attributes);
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

/** The node that a pod is bound to, or `''`. */
export function nodeOf(pod: StoredObject): string {
  return stringOf(specOf(pod), 'nodeName');
}
