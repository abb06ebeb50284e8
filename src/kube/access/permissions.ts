import { refuseArgument } from '../../shared/errors.ts';

/** A part of the library or of an agent that sends requests to the API server. */
export type AccessPart =
  | 'status-manager'
  | 'informer'
  | 'mirror-pods'
  | 'node'
  | 'node-watch'
  | 'events'
  | 'pod-materials'
  | 'runtime-helper'
  | 'kubelet-api'
  | 'serving-certificate';

/** One permission of a user. */
export interface Permission {
  /** RBAC verb: `get`, `list`, `patch`, … */
  readonly verb: string;
  /** API group; `''` is the core group. */
  readonly group: string;
  /** Plural resource name: `pods`. */
  readonly resource: string;
  /** `''` if there is none. */
  readonly subresource: string;
  /** `''` for all namespaces, and for a cluster-scoped resource. */
  readonly namespace: string;
  /** `''` for all objects. */
  readonly name: string;
  /** `''` if there is none. */
  readonly fieldSelector: string;
  /** Why a part needs it. */
  readonly purpose: string;
  /**
   * True if the Node authorizer grants it to a node's user for each object that a pod of the node refers to, and not for all
   * objects. Default: false.
   */
  readonly isGrantedPerObject?: boolean | undefined;
}

type Row = Pick<Permission, 'verb' | 'resource' | 'purpose'> & Partial<Permission>;

/** Of the Leases of nodes. */
export const leaseNamespace = 'kube-node-lease';
const leases = { group: 'coordination.k8s.io', resource: 'leases', namespace: leaseNamespace } as const;

const signingRequests = { group: 'certificates.k8s.io', resource: 'certificatesigningrequests' } as const;

const readPod = { verb: 'get', resource: 'pods', purpose: 'a pod is read before its status is written' } as const;
const deletePod = { verb: 'delete', resource: 'pods', purpose: 'a pod is removed when it has terminated' } as const;

/** The objects from which the environment and the volumes of pods are built. */
const podMaterials: readonly Row[] = [
  {
    ...{ verb: 'get', resource: 'configmaps', isGrantedPerObject: true },
    purpose: 'pods get environment and volumes from ConfigMaps',
  },
  {
    ...{ verb: 'get', resource: 'secrets', isGrantedPerObject: true },
    purpose: 'pods get environment, volumes and pull credentials from Secrets',
  },
  { verb: 'list', resource: 'services', purpose: 'pods get the addresses of Services' },
  { verb: 'watch', resource: 'services', purpose: 'changes of Services are seen' },
  {
    verb: 'create',
    resource: 'serviceaccounts',
    subresource: 'token',
    isGrantedPerObject: true,
    purpose: 'pods get the token of their service account',
  },
];

/** The requests of each part. This table is the only place that lists them. */
function rowsOf(nodeName: string): Readonly<Record<AccessPart, readonly Row[]>> {
  const fieldSelector = `spec.nodeName=${nodeName}`;
  return {
    'status-manager': [
      readPod,
      { verb: 'patch', resource: 'pods', subresource: 'status', purpose: 'pod statuses are written' },
      deletePod,
    ],
    informer: [
      { verb: 'list', resource: 'pods', fieldSelector, purpose: 'the pods of the node are listed' },
      { verb: 'watch', resource: 'pods', fieldSelector, purpose: 'changes of the pods of the node are seen' },
    ],
    'mirror-pods': [
      readPod,
      { verb: 'create', resource: 'pods', purpose: 'static pods get their mirror pods' },
      deletePod,
    ],
    node: [
      { verb: 'create', resource: 'nodes', purpose: 'the Node is registered' },
      { verb: 'get', resource: 'nodes', name: nodeName, purpose: 'the Node is read' },
      { verb: 'patch', resource: 'nodes', name: nodeName, purpose: 'labels and taints of the Node are kept' },
      {
        verb: 'patch',
        resource: 'nodes',
        subresource: 'status',
        name: nodeName,
        purpose: 'the Node status is written',
      },
      { verb: 'create', ...leases, purpose: 'the Lease of the node is created' },
      { verb: 'get', ...leases, name: nodeName, purpose: 'the Lease of the node is read' },
      {
        verb: 'update',
        ...leases,
        name: nodeName,
        purpose: 'the Lease of the node is renewed, so that it counts as alive',
      },
    ],
    'node-watch': [
      { verb: 'list', resource: 'nodes', purpose: 'the Nodes of the process are listed in place of a GET of each' },
      { verb: 'watch', resource: 'nodes', purpose: 'changes of these Nodes are seen' },
    ],
    events: [
      { verb: 'create', resource: 'events', purpose: 'Events are recorded' },
      { verb: 'patch', resource: 'events', purpose: 'Events that repeat are counted' },
    ],
    'pod-materials': podMaterials,
    'runtime-helper': [
      ...podMaterials,
      {
        verb: 'get',
        group: 'node.k8s.io',
        resource: 'runtimeclasses',
        purpose: 'the handler of a RuntimeClass is found',
      },
    ],
    'kubelet-api': [
      {
        verb: 'create',
        group: 'authentication.k8s.io',
        resource: 'tokenreviews',
        purpose: 'tokens of the clients of the kubelet API are verified',
      },
      {
        verb: 'create',
        group: 'authorization.k8s.io',
        resource: 'subjectaccessreviews',
        purpose: 'the permissions of the clients of the kubelet API are checked',
      },
    ],
    'serving-certificate': [
      { verb: 'create', ...signingRequests, purpose: 'the serving certificate of the kubelet API is requested' },
      { verb: 'get', ...signingRequests, purpose: 'the serving certificate of the kubelet API is received' },
    ],
  };
}

/** Every `AccessPart`. */
export const allAccessParts = Object.keys(rowsOf('')) as readonly AccessPart[];

/** @throws StatusManagerError INVALID_ARGUMENT */
export function requireParts(parts: unknown): asserts parts is readonly AccessPart[] {
  const isValid =
    Array.isArray(parts) && parts.length > 0 && parts.every((part) => allAccessParts.includes(part as AccessPart));
  if (!isValid) refuseArgument('parts', `a list of ${allAccessParts.map((part) => `'${part}'`).join(', ')}`, parts);
}

/**
 * What a complete node agent needs. Add `runtime-helper` for `createRuntimeHelper`, unless the user is the node's: the Node
 * authorizer grants it for each object. Add `kubelet-api` for `serveKubeletAPI`, and `serving-certificate` for its
 * `serverTLSBootstrap`. Virtual nodes need `pod-materials` in place of `mirror-pods`;
 * several in one process cost less with `node-watch`.
 *
 * @example
 * ```ts
 * import { accessParts, checkAccess } from 'kubelet-status-manager';
 *
 * const parts = accessParts.filter((part) => part !== 'mirror-pods');
 * const report = await checkAccess(client, { nodeName, parts });
 * ```
 */
export const accessParts: readonly AccessPart[] = ['status-manager', 'informer', 'mirror-pods', 'node', 'events'];

/** The permissions that these parts need, without duplicates. */
export function permissionsOf(parts: readonly AccessPart[], nodeName: string): Permission[] {
  const rows = rowsOf(nodeName);
  const all = parts.flatMap((part) => rows[part]);
  return all
    .filter((row, i) => all.indexOf(row) === i)
    .map((row) => ({ group: '', subresource: '', namespace: '', name: '', fieldSelector: '', ...row }));
}

/** Resource name in RBAC format: `pods/status`. */
export function resourceOf({ resource, subresource }: Permission): string {
  return subresource === '' ? resource : `${resource}/${subresource}`;
}
