/** A part of the library or of an agent, by what it asks of the API server. */
export type AccessPart = 'status-manager' | 'informer' | 'mirror-pods' | 'node' | 'events';

/** One thing that a user must be permitted to do. */
export interface Permission {
  /** As RBAC names it: `get`, `list`, `patch`, … */
  readonly verb: string;
  /** `''`: the core group. */
  readonly group: string;
  /** In the plural: `pods`. */
  readonly resource: string;
  /** `''`: none. */
  readonly subresource: string;
  /** `''`: all namespaces, or a resource without any. */
  readonly namespace: string;
  /** `''`: all objects. */
  readonly name: string;
  /** `''`: none. */
  readonly fieldSelector: string;
  /** What does not work without it. */
  readonly purpose: string;
}

type Row = Pick<Permission, 'verb' | 'resource' | 'purpose'> & Partial<Permission>;

const leases = { group: 'coordination.k8s.io', resource: 'leases', namespace: 'kube-node-lease' } as const;

const readPod = { verb: 'get', resource: 'pods', purpose: 'a pod is read before its status is written' } as const;
const deletePod = { verb: 'delete', resource: 'pods', purpose: 'a pod is removed when it has terminated' } as const;

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
    events: [
      { verb: 'create', resource: 'events', purpose: 'Events are recorded' },
      { verb: 'patch', resource: 'events', purpose: 'Events that repeat are counted' },
    ],
  };
}

/** Every `AccessPart`: what a complete node agent needs. */
export const accessParts: readonly AccessPart[] = ['status-manager', 'informer', 'mirror-pods', 'node', 'events'];

/** What these parts need, each permission once. */
export function permissionsOf(parts: readonly AccessPart[], nodeName: string): Permission[] {
  const rows = rowsOf(nodeName);
  const all = parts.flatMap((part) => rows[part]);
  return all
    .filter((row, i) => all.indexOf(row) === i)
    .map((row) => ({ group: '', subresource: '', namespace: '', name: '', fieldSelector: '', ...row }));
}

/** As RBAC writes it: `pods/status`. */
export function resourceOf({ resource, subresource }: Permission): string {
  return subresource === '' ? resource : `${resource}/${subresource}`;
}
