import type { Pod } from '../../kube/objects/types.ts';
import { computePodQOS } from '../../status-manager/status/qos.ts';
import { isCriticalPod } from '../pod-workers/evict-pod.ts';
import { requestedAmount } from './fits-resources.ts';

/** The amount of a resource to free. Source: kubelet `admissionRequirement`. */
export interface AdmissionRequirement {
  readonly resource: string;
  /** In thousandths for cpu. */
  readonly amount: number;
}

/**
 * Selects the pods to preempt for a critical pod: as few and as small as possible, BestEffort and Burstable first.
 * Source: kubelet `getPodsToPreempt`.
 * @throws Error when preempting all of them is not enough
 */
export function podsToPreempt<P extends Pod>(
  preemptor: Pod,
  pods: readonly P[],
  requirements: readonly AdmissionRequirement[],
): P[] {
  const preemptable = pods.filter((pod) => isPreemptable(preemptor, pod));
  const ofClass = (qosClass: string): P[] => preemptable.filter((pod) => computePodQOS(pod) === qosClass);
  const [bestEffort, burstable, guaranteed] = [ofClass('BestEffort'), ofClass('Burstable'), ofClass('Guaranteed')];
  requireEmpty(subtract(requirements, preemptable));
  const guaranteedToEvict = closest(guaranteed, subtract(requirements, [...bestEffort, ...burstable]));
  const burstableToEvict = closest(burstable, subtract(requirements, [...bestEffort, ...guaranteedToEvict]));
  const others = [...burstableToEvict, ...guaranteedToEvict];
  return [...closest(bestEffort, subtract(requirements, others)), ...others];
}

/** Source: kubelet `Preemptable`. */
function isPreemptable(preemptor: Pod, pod: Pod): boolean {
  if (isCriticalPod(preemptor) && !isCriticalPod(pod)) return true;
  const [priority, other] = [preemptor.spec?.priority, pod.spec?.priority];
  return priority != null && other != null && priority > other;
}

/** Source: kubelet `getPodsToPreemptByDistance`. */
function closest<P extends Pod>(pods: readonly P[], requirements: readonly AdmissionRequirement[]): P[] {
  const candidates = [...pods];
  const chosen: P[] = [];
  let missing = requirements;
  while (missing.length > 0) {
    if (candidates.length === 0) requireEmpty(missing);
    const best = candidates.reduce((a, b) => {
      const [distanceA, distanceB] = [distance(missing, a), distance(missing, b)];
      return distanceB < distanceA || (distanceB === distanceA && requestsAtMost(b, a)) ? b : a;
    });
    missing = subtract(missing, [best]);
    chosen.push(best);
    candidates.splice(candidates.indexOf(best), 1);
  }
  return chosen;
}

/**
 * 0 if preempting the pod alone suffices; each resource counts the same. Source: kubelet
 * `admissionRequirementList.distance`.
 */
function distance(requirements: readonly AdmissionRequirement[], pod: Pod): number {
  return requirements.reduce((sum, { resource, amount }) => {
    const remaining = amount - requestedAmount(pod, resource);
    return remaining > 0 ? sum + (remaining / amount) ** 2 : sum;
  }, 0);
}

/** The requirements that remain after preempting the pods. Source: kubelet `admissionRequirementList.subtract`. */
function subtract(requirements: readonly AdmissionRequirement[], pods: readonly Pod[]): AdmissionRequirement[] {
  return requirements
    .map(({ resource, amount }) => ({
      resource,
      amount: pods.reduce((left, pod) => left - requestedAmount(pod, resource), amount),
    }))
    .filter(({ amount }) => amount > 0);
}

/** Source: kubelet `smallerResourceRequest`. */
function requestsAtMost(a: Pod, b: Pod): boolean {
  const memory = requestedAmount(a, 'memory') - requestedAmount(b, 'memory');
  return memory !== 0 ? memory < 0 : requestedAmount(a, 'cpu') <= requestedAmount(b, 'cpu');
}

function requireEmpty(requirements: readonly AdmissionRequirement[]): void {
  if (requirements.length === 0) return;
  const listed = requirements.map(({ resource, amount }) => `(res: ${resource}, q: ${amount}), `).join('');
  throw new Error(
    `preemption: error finding a set of pods to preempt: no set of running pods found to reclaim resources: [${listed}]`,
  );
}
