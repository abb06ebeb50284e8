import type { SimulatedDisk } from '../simulated-disk.ts';
import { rootDirectory } from './simulated-volumes.ts';

const secret = { uid: '1', namespace: 'default', name: 'pull-secret', credentialHash: 'x' };
const pulled = { imageRef: 'sha256:1', lastUpdatedTime: '2026-01-01T00:00:00Z' };
const withCredentials = (credentials: unknown): object => ({ ...pulled, credentialMapping: { image: credentials } });

const records: Readonly<Record<string, readonly object[]>> = {
  'pulling ImagePullIntent': [{ image: ['image'] }],
  'pulled ImagePulledRecord': [
    { ...pulled, imageRef: undefined },
    { ...pulled, lastUpdatedTime: 'yesterday' },
    { ...pulled, credentialMapping: [] },
    withCredentials('none'),
    withCredentials({ kubernetesSecrets: [secret, { name: 7 }] }),
    withCredentials({ kubernetesServiceAccounts: 'default' }),
    withCredentials({ nodePodsAccessible: 'yes' }),
  ],
};

/** Records that no agent wrote, as a kubelet of another version or an operator leaves them, of images that no pod uses. */
export function leaveStrangeRecords(disk: SimulatedDisk): void {
  for (const [where, contents] of Object.entries(records)) {
    const [folder = '', kind] = where.split(' ');
    for (const [number, content] of contents.entries())
      disk.put(
        `${rootDirectory}/image_manager/${folder}/sha256-${String(number).repeat(64)}`,
        Buffer.from(JSON.stringify({ kind, apiVersion: 'kubelet.config.k8s.io/v1beta1', ...content })),
      );
  }
}
