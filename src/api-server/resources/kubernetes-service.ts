import { timeFromEpochMs } from '../../shared/time.ts';
import type { StoredObject } from '../storage/objects.ts';

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
