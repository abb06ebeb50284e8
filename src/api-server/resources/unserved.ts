import { APIStatusError } from '../api-status.ts';

/** API groups of kube-apiserver v1.37 that this server does not serve; `''` is `/api/v1`. */
const builtInGroups = new Set([
  'admissionregistration.k8s.io',
  'apiextensions.k8s.io',
  'apiregistration.k8s.io',
  'apps',
  'authentication.k8s.io',
  'authorization.k8s.io',
  'autoscaling',
  'batch',
  'certificates.k8s.io',
  'coordination.k8s.io',
  'discovery.k8s.io',
  'events.k8s.io',
  'flowcontrol.apiserver.k8s.io',
  'internal.apiserver.k8s.io',
  'networking.k8s.io',
  'node.k8s.io',
  'policy',
  'rbac.authorization.k8s.io',
  'resource.k8s.io',
  'scheduling.k8s.io',
  'storage.k8s.io',
  'storagemigration.k8s.io',
]);

const builtInCoreResources = new Set([
  'bindings',
  'componentstatuses',
  'endpoints',
  'limitranges',
  'persistentvolumeclaims',
  'persistentvolumes',
  'podtemplates',
  'replicationcontrollers',
  'resourcequotas',
]);

const builtInSubresources = new Set([
  'pods/attach',
  'pods/exec',
  'pods/log',
  'pods/portforward',
  'pods/proxy',
  'nodes/proxy',
  'namespaces/finalize',
  'services/proxy',
  'services/status',
]);

/** Whether kube-apiserver serves the resource and this server does not. */
export function isUnservedResource(group: string, resource: string): boolean {
  return group === '' ? builtInCoreResources.has(resource) : builtInGroups.has(group) && resource !== '';
}

export function isUnservedSubresource(resource: string, subresource: string): boolean {
  return builtInSubresources.has(`${resource}/${subresource}`);
}

/** A request for an API of kube-apiserver that this server does not serve. */
export function notServed(what: string): APIStatusError {
  const message = `APIServer does not serve ${what}: it has pods and their ConfigMaps, Secrets and ServiceAccounts, nodes, namespaces, events, leases and the Service kubernetes, and runs nothing. Use a real kube-apiserver for this request`;
  return new APIStatusError(501, 'NotImplemented', message);
}
