import type { ValidPod } from '../../kube/objects/types.ts';

/** Source: kubelet `lifecycle.PodAdmitAttributes`. */
export interface PodAdmitAttributes {
  /** The pod with the resources that it would get. */
  readonly pod: ValidPod;
  /** The other admitted pods, with their allocated resources. */
  readonly otherPods: readonly ValidPod[];
  /** `add`: the pod is new on the node; `resize`: its containers would get different resources. */
  readonly operation: 'add' | 'resize';
}

/**
 * For a new pod that is refused, `reason` and `message` become those of its status. For a resize, the
 * reason `Infeasible` means that it is never possible on this node; any other means `Deferred` (retried).
 * Source: kubelet `lifecycle.PodAdmitResult`.
 */
export type PodAdmitResult =
  | { readonly admit: true }
  | { readonly admit: false; readonly reason: string; readonly message: string };

/** Decides whether the node has room for a pod. Source: kubelet `lifecycle.PodAdmitHandler`. */
export interface PodAdmitHandler {
  /** Whether the pod may run beside the others. */
  admit(attributes: PodAdmitAttributes): PodAdmitResult;
}
