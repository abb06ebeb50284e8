import { createPodClient } from '../../src/kube/http/index.ts';
import { createCoreV1PodClient } from '../../src/kube/client/core-v1-pod-client.ts';
import { APIError } from '../../src/kube/client/api-error.ts';
import type { ClosablePodClient, PodStatusPatch } from '../../src/kube/client/pod-client.ts';
import { clientNodeMajor, loadClientNode } from '../support/client-node.ts';

/** The server and the credentials. */
export interface ClientTarget {
  readonly url: string;
  readonly caData?: string;
  readonly token: string;
}

export interface ContractClientKind {
  readonly name: string;
  create(target: ClientTarget): Promise<ClosablePodClient>;
}

/** Every implementation of `PodClient`. All must pass the same contract. */
export const contractClients: readonly ContractClientKind[] = [
  {
    name: `CoreV1Api of client-node ${clientNodeMajor}`,
    async create(target) {
      const { CoreV1Api, KubeConfig } = await loadClientNode();
      const kubeConfig = new KubeConfig();
      kubeConfig.loadFromString(JSON.stringify(kubeConfigOf(target)));
      return createCoreV1PodClient(kubeConfig.makeApiClient(CoreV1Api));
    },
  },
  {
    name: 'createPodClient',
    create: (target) => Promise.resolve(createPodClient(kubeConfigOf(target))),
  },
];

function kubeConfigOf({ url, caData, token }: ClientTarget): object {
  // client-node uses plain HTTP only if TLS verification is explicitly disabled.
  const authority =
    caData === undefined ? { 'insecure-skip-tls-verify': true } : { 'certificate-authority-data': caData };
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server: url, ...authority } }],
    users: [{ name: 'user', user: { token } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'user' } }],
    'current-context': 'test',
  };
}

/** A strategic merge patch of a pod's status. */
export const strategic = (uid: string, status: Record<string, unknown>): PodStatusPatch => ({
  type: 'application/strategic-merge-patch+json',
  body: { metadata: { uid }, status },
});

/** Resolves with the `APIError` that the request rejects with; throws for anything else. */
export async function failureOf(request: Promise<unknown>): Promise<APIError> {
  const error: unknown = await request.then(
    () => new Error('Expected the request to fail'),
    (reason: unknown) => reason,
  );
  if (error instanceof APIError) return error;
  throw new Error('Expected an APIError', { cause: error });
}
