/**
 * Compiles, or the types of this library no longer take what users of client-node have in hand.
 * Nothing here runs.
 */
import type { CoreV1Api, V1ContainerStatus, V1Pod, V1PodCondition, V1PodStatus } from '@kubernetes/client-node';
import type * as ClientNode2 from 'client-node-2';
import { vi } from 'vitest';
import type { CoreV1ApiLike } from '../../src/client/core-v1-api-like.ts';
import type { PodClient } from '../../src/client/pod-client.ts';
import { toPodClient } from '../../src/client/to-pod-client.ts';
import type { ContainerStatusInput, Pod, PodConditionInput, PodStatus, PodStatusInput } from '../../src/types.ts';

declare const kubeConfig: ClientNode2.KubeConfig;
declare const api1: CoreV1Api;
declare const api2: ClientNode2.CoreV1Api;
declare const pod1: V1Pod;
declare const pod2: ClientNode2.V1Pod;
declare const status1: V1PodStatus;
declare const status2: ClientNode2.V1PodStatus;
declare const condition1: V1PodCondition;
declare const condition2: ClientNode2.V1PodCondition;
declare const containerStatus1: V1ContainerStatus;
declare const containerStatus2: ClientNode2.V1ContainerStatus;
declare const canonical: PodStatus;
declare const podClient: PodClient;

export const apis: CoreV1ApiLike[] = [api1, api2];
export const pods: Pod[] = [pod1, pod2];
export const statuses: PodStatusInput[] = [status1, status2, canonical];
export const conditions: PodConditionInput[] = [condition1, condition2];
export const containerStatuses: ContainerStatusInput[] = [containerStatus1, containerStatus2];

// oxlint-disable vitest/require-mock-type-parameters -- as users write them
export const mocks: CoreV1ApiLike[] = [
  { readNamespacedPod: vi.fn(), patchNamespacedPodStatus: vi.fn(), deleteNamespacedPod: vi.fn() },
  {
    readNamespacedPod: vi.fn().mockResolvedValue(pod1),
    patchNamespacedPodStatus: vi.fn(async () => pod2),
    deleteNamespacedPod: vi.fn(async ({ name }: { name: string }) => ({ metadata: { name } })),
  },
];
// oxlint-enable vitest/require-mock-type-parameters
export const mockOfOneMethod: CoreV1ApiLike = Object.assign(Object.create(api1) as CoreV1Api, {
  readNamespacedPod: async () => pod1,
});

export const clients: PodClient[] = [api1, api2, mockOfOneMethod, podClient].map((client) => toPodClient(client));

// @ts-expect-error -- a KubeConfig is no client
export const notAClient: CoreV1ApiLike = kubeConfig;
// @ts-expect-error -- a condition's type is a string
export const notAStatus: PodStatusInput = { conditions: [{ type: 1 }] };
