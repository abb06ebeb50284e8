/**
 * Compiles, or the types of this library no longer take what users of client-node have in hand.
 * Nothing here runs.
 */
import type {
  CoreV1Api,
  KubeConfig,
  V1ContainerStatus,
  V1Pod,
  V1PodCondition,
  V1PodStatus,
} from '@kubernetes/client-node';
import { vi } from 'vitest';
import type { CoreV1ApiLike } from '../../src/kube/client/core-v1-api-like.ts';
import type { PodClient } from '../../src/kube/client/pod-client.ts';
import { toPodClient } from '../../src/kube/client/to-pod-client.ts';
import { toV1Pod } from '../../src/kube/pods/to-v1-pod.ts';
import type {
  ContainerStatusInput,
  Pod,
  PodConditionInput,
  PodStatus,
  PodStatusInput,
} from '../../src/kube/objects/types.ts';

declare const kubeConfig: KubeConfig;
declare const api: CoreV1Api;
declare const pod: V1Pod;
declare const status: V1PodStatus;
declare const condition: V1PodCondition;
declare const containerStatus: V1ContainerStatus;
declare const canonical: PodStatus;
declare const podClient: PodClient;

export const apis: CoreV1ApiLike[] = [api];
export const pods: Pod[] = [pod];
export const statuses: PodStatusInput[] = [status, canonical];
export const conditions: PodConditionInput[] = [condition];
export const containerStatuses: ContainerStatusInput[] = [containerStatus];

// oxlint-disable vitest/require-mock-type-parameters -- as users write them
export const mocks: CoreV1ApiLike[] = [
  { readNamespacedPod: vi.fn(), patchNamespacedPodStatus: vi.fn(), deleteNamespacedPod: vi.fn() },
  {
    readNamespacedPod: vi.fn().mockResolvedValue(pod),
    patchNamespacedPodStatus: vi.fn(async () => pod),
    deleteNamespacedPod: vi.fn(async ({ name }: { name: string }) => ({ metadata: { name } })),
  },
];
// oxlint-enable vitest/require-mock-type-parameters
export const mockOfOneMethod: CoreV1ApiLike = Object.assign(Object.create(api) as CoreV1Api, {
  readNamespacedPod: async () => pod,
});

export const clients: PodClient[] = [api, mockOfOneMethod, podClient].map((client) => toPodClient(client));

// @ts-expect-error -- a KubeConfig is no client
export const notAClient: CoreV1ApiLike = kubeConfig;
// @ts-expect-error -- a condition's type is a string
export const notAStatus: PodStatusInput = { conditions: [{ type: 1 }] };

// Literals written by hand: what V1Pod takes, Pod takes.
export const literal: Pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'web',
    namespace: 'default',
    uid: 'u',
    creationTimestamp: new Date(0),
    managedFields: [{ manager: 'kubectl', operation: 'Update', time: new Date(0) }],
    ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'u', blockOwnerDeletion: false }],
  },
  spec: {
    containers: [
      {
        name: 'app',
        ports: [{ containerPort: 80 }],
        readinessProbe: { httpGet: { port: 80 }, periodSeconds: 5 },
        resources: { limits: { cpu: '1' }, claims: [{ name: 'gpu' }] },
        volumeMounts: [{ name: 'data', mountPath: '/data', subPath: 'a' }],
      },
    ],
    ephemeralContainers: [{ name: 'debug', image: 'busybox', targetContainerName: 'app' }],
    tolerations: [{ operator: 'Exists' }],
    volumes: [{ name: 'data', emptyDir: {} }],
  },
  status: { phase: 'Running', startTime: new Date(0) },
} satisfies V1Pod;
// @ts-expect-error -- a typing error is found
export const misspelled: Pod = { metadata: { nmae: 'web' } };
// @ts-expect-error -- also deep inside
export const misspelledDeep: Pod = { spec: { containers: [{ name: 'app', imagePullPolcy: 'Always' }] } };
export const castBack = literal as V1Pod;

// What this library returns can be handed to client-node.
declare const ours: Pod;
export const created = api.createNamespacedPod({ namespace: 'default', body: toV1Pod(ours) });
export const theirs: V1Pod = toV1Pod(ours);
