import { isIPv6 } from 'node:net';
import { StatusManagerError } from '../../shared/errors.ts';
import type { KubeConfigObject } from './kube-config-types.ts';

/** Options of `inClusterConfig`. */
export interface InClusterConfigOptions {
  /** Default: `process.env`; read are `KUBERNETES_SERVICE_HOST` and `KUBERNETES_SERVICE_PORT`. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Mount path of the service account; default `/var/run/secrets/kubernetes.io/serviceaccount`. */
  readonly serviceAccountDir?: string | undefined;
}

/**
 * The configuration of a process that runs in a pod. The address of the API server comes from the
 * environment, CA and token from the mounted service account; both files are read again when they
 * rotate. This function itself reads no file. Throws `INVALID_STATE` outside a cluster.
 * Source: client-go `rest.InClusterConfig`.
 *
 * @example
 * ```ts
 * import { createPodClient, inClusterConfig } from 'kubelet-status-manager/http';
 *
 * const client = createPodClient(inClusterConfig());
 * ```
 */
export function inClusterConfig(options: InClusterConfigOptions = {}): KubeConfigObject {
  const env = options.env ?? process.env;
  const host = env['KUBERNETES_SERVICE_HOST'];
  const port = env['KUBERNETES_SERVICE_PORT'];
  if (!host || !port) {
    throw new StatusManagerError(
      'INVALID_STATE',
      'Expected KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT to be set: this process does not run in a pod',
    );
  }
  const directory = options.serviceAccountDir ?? '/var/run/secrets/kubernetes.io/serviceaccount';
  return {
    clusters: [
      {
        name: 'in-cluster',
        cluster: {
          server: `https://${isIPv6(host) ? `[${host}]` : host}:${port}`,
          'certificate-authority': `${directory}/ca.crt`,
        },
      },
    ],
    users: [{ name: 'in-cluster', user: { tokenFile: `${directory}/token` } }],
    contexts: [{ name: 'in-cluster', context: { cluster: 'in-cluster', user: 'in-cluster' } }],
    'current-context': 'in-cluster',
  };
}
