import type { Pod } from '../../index.ts';

/** Source: kubelet `lifecycle.PodAdmitAttributes`. */
export interface PodAdmitAttributes {
  /** The pod with the resources that it is to have. */
  readonly pod: Pod;
  /** The other pods that were admitted, with the resources that they were allocated. */
  readonly otherPods: readonly Pod[];
  /** `add`: the pod is new on the node; `resize`: its containers are to get other resources. */
  readonly operation: 'add' | 'resize';
}

/**
 * Of a new pod that is refused, `reason` and `message` become those of its status. Of a resize, the
 * reason says what comes of it: `Infeasible` (never on this node) or else `Deferred` (tried again).
 * Source: kubelet `lifecycle.PodAdmitResult`.
 */
export type PodAdmitResult =
  | { readonly admit: true }
  | { readonly admit: false; readonly reason: string; readonly message: string };

/** Says whether the node has room for a pod; must not throw. Source: kubelet `lifecycle.PodAdmitHandler`. */
export interface PodAdmitHandler {
  /** Whether the pod may run beside the others. */
  admit(attributes: PodAdmitAttributes): PodAdmitResult;
}
