import { podSpecOf } from '../../kube/objects/kube-object.ts';
import { reasonOf } from '../../shared/logger.ts';
import type { Pod } from '../../kube/objects/types.ts';
import type { PodAdmitAttributes, PodAdmitHandler, PodAdmitResult } from '../allocation/pod-admit-handler.ts';
import { goPlatform } from '../registration/node-defaults.ts';
import type { Node } from '../registration/node-types.ts';
import type { CriticalPodAdmission } from './critical-pod-admission.ts';
import { generalPredicates } from './general-predicates.ts';
import { admissionFailure } from './predicate-failure.ts';

export interface PredicateAdmitHandlerOptions {
  readonly nodeName: string;
  /** The Node as last seen; undefined if it is unknown; checks that need it are then skipped. */
  readonly getNode: () => Node | undefined;
  readonly criticalPodAdmission: Pick<CriticalPodAdmission, 'handleAdmissionFailure' | 'isPreempting'>;
}

/**
 * Refuses pods that do not fit the Node: its operating system, resources, labels, name, ports and taints.
 * Source: kubelet `predicateAdmitHandler`.
 */
export class PredicateAdmitHandler implements PodAdmitHandler {
  readonly #options: PredicateAdmitHandlerOptions;

  constructor(options: PredicateAdmitHandlerOptions) {
    this.#options = options;
  }

  admit({ pod, otherPods }: PodAdmitAttributes): PodAdmitResult {
    const { nodeName, getNode, criticalPodAdmission } = this.#options;
    const node = getNode();
    const unsupported = unsupportedFeature(pod, node);
    if (unsupported !== undefined) return { admit: false, ...unsupported };
    const counted = otherPods.filter((other) => !criticalPodAdmission.isPreempting(other));
    const failures = generalPredicates(pod, counted, { nodeName, node });
    if (failures.length === 0) return { admit: true };
    try {
      const [failure] = criticalPodAdmission.handleAdmissionFailure(pod, counted, failures);
      return failure === undefined ? { admit: true } : { admit: false, ...admissionFailure(failure) };
    } catch (thrown) {
      const message = `Unexpected error while attempting to recover from admission failure: ${reasonOf(thrown)}`;
      return { admit: false, reason: 'UnexpectedAdmissionError', message };
    }
  }
}

/**
 * Checks for failures that preemption cannot resolve. Source: kubelet `rejectPodAdmissionBasedOnOSSelector`,
 * `rejectPodAdmissionBasedOnOSField`, `rejectPodAdmissionBasedOnSupplementalGroupsPolicy`.
 */
export function unsupportedFeature(
  pod: Pod,
  node: Node | undefined,
): { readonly reason: string; readonly message: string } | undefined {
  const { os, securityContext } = podSpecOf(pod);
  const { nodeInfo, features } = node?.status ?? {};
  const nodeOS = nodeInfo?.['operatingSystem'] || goPlatform().os;
  const label = pod.metadata?.labels?.['kubernetes.io/os'];
  if (label !== undefined && label !== nodeOS) {
    const message = "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label";
    return { reason: 'PodOSSelectorNodeLabelDoesNotMatch', message };
  }
  if (os != null && os.name !== nodeOS)
    return { reason: 'PodOSNotSupported', message: "Failed to admit pod as the OS field doesn't match node OS" };
  const { supplementalGroupsPolicy } = (features ?? {}) as { readonly supplementalGroupsPolicy?: unknown };
  if (
    node !== undefined &&
    securityContext?.supplementalGroupsPolicy === 'Strict' &&
    supplementalGroupsPolicy !== true
  ) {
    const message = 'SupplementalGroupsPolicy=Strict is not supported in this node';
    return { reason: 'SupplementalGroupsPolicyNotSupported', message };
  }
  return undefined;
}
