import { directRequest, type Registry } from '../registry.ts';
import { resourceNamed } from './resources.ts';
import type { ObjectStore } from '../storage/store.ts';

/**
 * Creates the objects that every namespace of a cluster has, together with the namespace: the ServiceAccount `default` and
 * the ConfigMap `kube-root-ca.crt`. Unlike controllers, it does not create them again.
 * Source: kube-controller-manager `serviceaccount`, `rootcacertpublisher`.
 */
export function addNamespaceObjects(store: ObjectStore, registry: Registry, certificateAuthority: string): void {
  const objects = {
    serviceaccounts: { metadata: { name: 'default' } },
    configmaps: { metadata: { name: 'kube-root-ca.crt' }, data: { 'ca.crt': certificateAuthority } },
  };
  store.subscribe('namespaces', ({ type, object: { metadata } }) => {
    if (type !== 'ADDED') return;
    for (const [resource, object] of Object.entries(objects)) {
      const target = { definition: resourceNamed('', 'v1', resource)!, namespace: metadata.name };
      const request = directRequest('create', 'system:kube-controller-manager');
      registry.create({ ...target, name: '', subresource: '' }, object, request);
    }
  });
}
