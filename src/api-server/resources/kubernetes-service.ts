import { timeFromEpochMs } from '../../shared/time.ts';
import { objectsOf, numberOf, stringOf } from '../../kube/objects/json-object.ts';
import { specOf, type StoredObject } from '../storage/objects.ts';
import { ageOf, type Cell, type Column, column, name, none } from '../tables/table-cells.ts';

/**
 * The Service that kube-apiserver creates for itself. Cluster IPs are not routed here, so its address is the server's. Source: `pkg/controlplane/controller/kubernetesservice`.
 */
export function kubernetesService(address: string, port: number, nowMs: number, uid: string): StoredObject {
  return {
    kind: 'Service',
    apiVersion: 'v1',
    metadata: {
      ...{ name: 'kubernetes', namespace: 'default', uid, resourceVersion: '' },
      creationTimestamp: timeFromEpochMs(nowMs),
      labels: { component: 'apiserver', provider: 'kubernetes' },
    },
    spec: {
      ports: [{ name: 'https', protocol: 'TCP', port, targetPort: port }],
      ...{ clusterIP: address, clusterIPs: [address], type: 'ClusterIP', sessionAffinity: 'None' },
      ...{ ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack', internalTrafficPolicy: 'Cluster' },
    },
    status: { loadBalancer: {} },
  };
}

export const serviceColumns: readonly Column[] = [
  ...[name, column('Type'), column('Cluster-IP'), column('External-IP'), column('Port(s)'), column('Age')],
  column('Selector', '', 1),
];

/** Source: `printService`. */
export function serviceRow(service: StoredObject, nowMs: number): Cell[] {
  const { metadata } = service;
  const spec = specOf(service);
  const ports = objectsOf(spec, 'ports').map((port) => `${numberOf(port, 'port')}/${stringOf(port, 'protocol')}`);
  return [
    ...[metadata.name, stringOf(spec, 'type'), stringOf(spec, 'clusterIP'), none],
    ...[ports.join(','), ageOf(metadata.creationTimestamp, nowMs), none],
  ];
}
