import type { KubeConfigObject } from 'kubelet-status-manager/http';

/** A kubeconfig of a test's API server for the user with this token. */
export function kubeConfigOf(
  { url, caData }: { readonly url: string; readonly caData?: string | undefined },
  token: string,
): KubeConfigObject {
  return {
    clusters: [{ name: 'c', cluster: { server: url, 'certificate-authority-data': caData } }],
    users: [{ name: 'u', user: { token } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  };
}
