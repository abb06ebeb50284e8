import type { JSONPatchOperation, PodReference, StrategicMergePatchBody } from './pod-client.ts';

export interface PatchNamespacedPodStatusRequest extends PodReference {
  readonly body: StrategicMergePatchBody | readonly JSONPatchOperation[];
}

/** Only the body carries the options: the API server reads query parameters when there is none. */
export interface DeleteNamespacedPodRequest extends PodReference {
  readonly body: {
    readonly gracePeriodSeconds: number;
    readonly preconditions: { readonly uid: string };
  };
}

/**
 * The three methods used of client-node's `CoreV1Api`, 1.4 or 2.x, or of a mock of it. Method
 * syntax on purpose: with it, the parameter types of both majors and of mocks are compatible.
 * `options` is a `ConfigurationOptions` with one middleware; a mock may ignore it.
 */
export interface CoreV1ApiLike {
  /** GET of a pod. */
  readNamespacedPod(request: PodReference, options?: object): unknown;
  /** PATCH of the subresource `status`. */
  patchNamespacedPodStatus(request: PatchNamespacedPodStatusRequest, options?: object): unknown;
  /** DELETE of a pod. */
  deleteNamespacedPod(request: DeleteNamespacedPodRequest, options?: object): unknown;
}

export const coreV1ApiMethods = [
  'readNamespacedPod',
  'patchNamespacedPodStatus',
  'deleteNamespacedPod',
] as const satisfies readonly (keyof CoreV1ApiLike)[];

export type CoreV1ApiMethod = (typeof coreV1ApiMethods)[number];
