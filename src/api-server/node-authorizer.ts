import { forbidden } from './api-status.ts';
import { specOf, type StoredObject } from './objects.ts';
import { stringOf } from '../kube/json-object.ts';
import type { Target } from './target.ts';
import { requiredFieldValue } from './selectors.ts';
import type { ObjectStore } from './store.ts';
import type { User } from './users.ts';

const leaseNamespace = 'kube-node-lease';

/** The attributes of a request that authorization depends on. */
export interface Attributes extends Target {
  readonly verb: string;
  readonly fieldSelector: string;
}

/**
 * Authorizes the requests of a node's user: for its pods, Node and Lease, for
 * reading Services, and for creating Events. All other users may do everything.
 * @throws APIStatusError 403
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

/** The reason for refusing the request, possibly empty; undefined if it is allowed. */
function refusalFor(node: string, attributes: Attributes, store: ObjectStore): string | undefined {
  switch (attributes.definition.resource) {
    case 'pods':
      return refusalForPods(node, attributes, store);
    case 'nodes':
      return refusalForNodes(node, attributes);
    case 'leases':
      return refusalForLeases(node, attributes);
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
  const name = attributes.name || (requiredFieldValue(fieldSelector, 'metadata.name') ?? '');
  if (subresource === 'status') return verb === 'patch' || verb === 'update' ? undefined : '';
  if (subresource === 'eviction') return verb === 'create' ? undefined : '';
  if (subresource !== '') return '';
  switch (verb) {
    case 'get':
    case 'list':
    case 'watch': {
      // The node authorizer treats a list by name as a get.
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

/** The node that a pod is bound to, or `''`. */
export function nodeOf(pod: StoredObject): string {
  return stringOf(specOf(pod), 'nodeName');
}
