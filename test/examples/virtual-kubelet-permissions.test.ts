import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { type AccessPart, permissionsOf, resourceOf } from '../../src/kube/access/permissions.ts';

interface Role {
  readonly kind: string;
  readonly metadata: { readonly namespace?: string };
  readonly rules: readonly { readonly [Field in 'apiGroups' | 'resources' | 'verbs']: readonly string[] }[];
}

const parts: readonly AccessPart[] = [
  ...(['status-manager', 'informer', 'node', 'node-watch', 'events', 'pod-materials'] as const),
  ...(['kubelet-api', 'serving-certificate'] as const),
];
/** Of the namespace with the Leases of `replicas`. */
const ownNamespace = 'virtual-nodes';

it('deployment.yaml grants what virtual nodes and the kubelet API need, where they need it, and nothing else', async () => {
  const file = new URL('../../examples/virtual-kubelet-provider/deployment.yaml', import.meta.url);
  const documents = parseAllDocuments(await readFile(file, 'utf8')).map((document) => document.toJS() as Role);
  const granted = documents
    .filter(({ kind, metadata }) => /^(Cluster)?Role$/.test(kind) && metadata.namespace !== ownNamespace)
    .flatMap(({ metadata: { namespace = '' }, rules }) =>
      rules.flatMap(({ apiGroups, resources, verbs }) =>
        apiGroups.flatMap((group) =>
          resources.flatMap((resource) => verbs.map((verb) => [namespace, group, resource, verb].join(' '))),
        ),
      ),
    );
  const needed = permissionsOf(parts, 'any').map((permission) =>
    [permission.namespace, permission.group, resourceOf(permission), permission.verb].join(' '),
  );
  expect(granted.toSorted()).toEqual([...new Set(needed)].toSorted());
});
