/** Where APIServer and a real kube-apiserver differ. docs/testing.md has the same list, which a test checks. */
export interface DeclaredDifference {
  readonly id: string;
  /** The difference, for users of APIServer. Without a pipe character, because it is shown in a table. */
  readonly text: string;
  /** Part of the error message (406, 415 or 501). Absent for a harmless difference. */
  readonly refusal?: string;
}

const useJSON = 'set ContentType: application/json';

export const declaredDifferences: readonly DeclaredDifference[] = [
  { id: 'protobuf', text: 'Protobuf is neither read nor written.', refusal: useJSON },
  { id: 'yaml', text: 'YAML is neither read nor written.', refusal: useJSON },
  {
    id: 'server-side-apply',
    text: 'Server-side apply is not done, and objects have no managedFields.',
    refusal: 'use kubectl apply without --server-side',
  },
  {
    id: 'resources',
    text: 'Only pods, ConfigMaps, Secrets, ServiceAccounts, nodes, namespaces, events, leases, SelfSubjectAccessReviews, SelfSubjectReviews and TokenReviews are served. The only Service is its own, kubernetes, with its real address.',
    refusal: 'Use a real kube-apiserver',
  },
  {
    id: 'running',
    text: 'Nothing runs: logs, exec, attach, port-forward and proxies are not served.',
    refusal: 'Use a real kube-apiserver',
  },
  {
    id: 'pod-level-resize',
    text: 'Pods with pod-level resources (spec.resources) are not resized.',
    refusal: 'set the resources of containers',
  },
  {
    id: 'impersonation',
    text: 'Only the admin impersonates, and only users that the server has.',
    refusal: 'nodeUsers',
  },
  {
    id: 'table-v1beta1',
    text: 'Tables are served as meta.k8s.io/v1 only.',
    refusal: 'only the following media types are accepted',
  },
  { id: 'protobuf-preferred', text: 'A client that prefers protobuf and takes JSON gets JSON.' },
  { id: 'warnings', text: 'Warnings about objects that are odd but valid are not sent; those about fields are.' },
  {
    id: 'namespace-objects',
    text: 'Each namespace has the ServiceAccount default and the ConfigMap kube-root-ca.crt, as controllers make them.',
  },
  { id: 'columns', text: 'The descriptions of the columns of Tables are shorter.' },
  { id: 'discovery', text: 'Discovery lists what is served, without storage hashes and client addresses.' },
  { id: 'version', text: '/version names no commit, Go version, compiler or platform.' },
  { id: 'unknown-group', text: 'The 404 of an unknown API group is a Status, not text.' },
  { id: 'unknown-path', text: 'The 404 of an unknown path is a Status, not a list of paths.' },
];
