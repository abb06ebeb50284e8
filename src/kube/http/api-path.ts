import { refuseArgument } from '../../shared/errors.ts';

/**
 * Escapes an untrusted name as one path segment. Throws `INVALID_ARGUMENT` for a name that no object can have.
 *
 * @example
 * ```ts
 * import { pathSegment } from 'kubelet-status-manager/http';
 *
 * const path = `/api/v1/nodes/${pathSegment(nodeName, 'nodeName')}`;
 * const node = (await client.transport.request('GET', path)).json();
 * ```
 */
export function pathSegment(value: string, what: string): string {
  if (typeof value !== 'string' || value === '' || value === '.' || value === '..' || /[/%]/.test(value))
    refuseArgument(what, 'a name without `/` and `%`', value);
  return encodeURIComponent(value);
}

/** The path of a pod, for example `/api/v1/namespaces/default/pods/web-0`. */
export function podPath(namespace: string, name: string): string {
  return `/api/v1/namespaces/${pathSegment(namespace, 'namespace')}/pods/${pathSegment(name, 'name')}`;
}

/**
 * Throws `INVALID_ARGUMENT` unless `path` is absolute, without query and without segments that a
 * proxy may resolve to another path.
 */
export function checkPath(path: string): void {
  if (!path.startsWith('/') || /[?#\\\s]|\/\/|(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)|%2f|%5c/i.test(path))
    refuseArgument('path', 'an absolute path without query and dot segments', path);
}

export type QueryParameters = Readonly<Record<string, string | number | boolean | undefined>>;

/** `?a=b&c=d`, or nothing when no parameter is set. */
export function queryString(query: QueryParameters | undefined): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) if (value !== undefined) parameters.set(name, String(value));
  return parameters.size === 0 ? '' : `?${parameters.toString()}`;
}

/** A Node with its status. Source: kubelet `updateNodeStatus`. */
const nodePath = /^\/api\/v1\/nodes\/[^/]+(\/status)?$/;
/** Of Nodes, and of processes that own Nodes. Source: kubelet `pkg/kubelet/nodelease`. */
const leasePath = /^\/apis\/coordination\.k8s\.io\/[^/]+\/namespaces\/[^/]+\/leases(\/|$)/;

/** True for heartbeats: the requests that tell others that a node or a process is alive. */
export function isHeartbeat(path: string): boolean {
  return nodePath.test(path) || leasePath.test(path);
}
