import type { Pod } from 'kubelet-status-manager';
import type { KubeHTTP } from '../../test/support/kube-http.ts';
import { benchPods } from '../fixtures.ts';

const path = '/api/v1/namespaces/default/pods';
const concurrency = 16;

/** Creates the pods on the API server. Resolves with the created objects. */
export async function createPods(http: KubeHTTP, label: string, count: number): Promise<Pod[]> {
  const pods = benchPods(count);
  const created: Pod[] = Array.from({ length: count });
  const remaining = pods.entries();
  const worker = async (): Promise<void> => {
    for (const [i, { metadata, spec }] of remaining) {
      const { status, body } = await http.request('POST', path, {
        body: {
          apiVersion: 'v1',
          kind: 'Pod',
          metadata: { name: `${label}-${metadata!.name}`, labels: { bench: label } },
          spec: { ...spec, automountServiceAccountToken: false, terminationGracePeriodSeconds: 0 },
        },
      });
      if (status !== 201) throw new Error(`Creating a pod failed with ${status}: ${JSON.stringify(body)}`);
      created[i] = body as Pod;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  return created;
}

export async function deletePods(http: KubeHTTP, label: string): Promise<void> {
  await http.request('DELETE', `${path}?labelSelector=bench%3D${label}`, {
    body: { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0 },
  });
}
