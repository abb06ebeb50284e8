import type { JSONPatchOperation, PodReference, StrategicMergePatchBody } from './pod-client.ts';

export interface PatchNamespacedPodStatusRequest extends PodReference {
  readonly body: StrategicMergePatchBody | readonly JSONPatchOperation[];
}

/** The options are only in the body: the API server reads query parameters when there is no body. */
export interface DeleteNamespacedPodRequest extends PodReference {
  readonly body: {
    readonly gracePeriodSeconds: number;
    readonly preconditions: { readonly uid: string };
  };
}

/**
 * The three methods of client-node's `CoreV1Api` (1.4 or 2.x), or of a mock, that are used. Declared
 * in method syntax, so that the parameter types of both major versions and of mocks are assignable.
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
