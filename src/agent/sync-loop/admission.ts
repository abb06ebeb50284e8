import type { Pod } from '../../index.ts';

/** Source: kubelet `lifecycle.PodAdmitAttributes`. */
export interface PodAdmitAttributes {
  /** The pod that is new on this node. */
  readonly pod: Pod;
  /** The pods that may use resources of the node: admitted, and not known to be terminated. */
  readonly otherPods: readonly Pod[];
}

/** Source: kubelet `lifecycle.PodAdmitResult`. */
export type PodAdmitResult =
  | { readonly admit: true }
  | {
      readonly admit: false;
      /** In a word, for the pod's status and the event: `OutOfcpu`, `NodeAffinity`. */
      readonly reason: string;
      /** For people to read. */
      readonly message: string;
    };

/**
 * Whether a pod may run on this node. Called once for each pod that is new to the agent, also after a
 * restart of the agent. A pod that is refused gets the phase Failed with the reason and the message,
 * and none of its containers is started. When it throws, the pod is refused with the reason
 * `UnexpectedAdmissionError`. Source: kubelet `canAdmitPod`.
 */
export type CanAdmitPod = (attributes: PodAdmitAttributes) => PodAdmitResult;
