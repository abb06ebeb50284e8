/**
 * Compiles, or the types of this library no longer accept what users of client-node 2 pass.
 * Nothing here runs. A project of its own: npm leaves client-node 2 out below Node.js 22.19.
 */
import type * as ClientNode2 from 'client-node-2';
import type { CoreV1ApiLike } from '../../src/kube/client/core-v1-api-like.ts';
import { toPodClient } from '../../src/kube/client/to-pod-client.ts';
import { toV1Pod } from '../../src/kube/pods/to-v1-pod.ts';
import type { KubeConfigSource } from '../../src/kube/http/index.ts';
import type { InformerLike } from '../../src/kube/informer/index.ts';
import type { ContainerStatusInput, Pod, PodConditionInput, PodStatusInput } from '../../src/kube/objects/types.ts';

declare const kubeConfig: ClientNode2.KubeConfig;
declare const api: ClientNode2.CoreV1Api;
declare const pod: ClientNode2.V1Pod;
declare const status: ClientNode2.V1PodStatus;
declare const condition: ClientNode2.V1PodCondition;
declare const containerStatus: ClientNode2.V1ContainerStatus;
declare const informer: ClientNode2.Informer<ClientNode2.V1Pod>;
declare const listWatch: ClientNode2.ListWatch<ClientNode2.V1Pod>;

export const coreV1Api: CoreV1ApiLike = api;
export const inputs: [Pod, PodStatusInput, PodConditionInput, ContainerStatusInput] = [
  pod,
  status,
  condition,
  containerStatus,
];
export const literal: Pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', managedFields: [{ manager: 'kubectl' }] },
  spec: { containers: [{ name: 'app', ports: [{ containerPort: 80 }] }], tolerations: [{ operator: 'Exists' }] },
} satisfies ClientNode2.V1Pod;
export const castBack = literal as ClientNode2.V1Pod;
export const client = toPodClient(api);
export const kubeConfigSource: KubeConfigSource = kubeConfig;
export const informers: InformerLike[] = [informer, listWatch];

// @ts-expect-error -- a KubeConfig is not a client
export const notAClient: CoreV1ApiLike = kubeConfig;

// What this library returns can be handed to client-node.
declare const ours: Pod;
export const created = api.createNamespacedPod({ namespace: 'default', body: toV1Pod(ours) });
export const theirs: ClientNode2.V1Pod = toV1Pod(ours);
