import type { Pod } from '../../kube/objects/types.ts';
import { computePodQOS } from '../../status-manager/status/qos.ts';
import { isCriticalPod } from '../pod-workers/evict-pod.ts';
import { requestedAmounts } from './fits-resources.ts';

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
  const preemptable = pods
    .filter((pod) => isPreemptable(preemptor, pod))
    .map((pod) => ({ pod, requested: requestedAmounts(pod) }));
  const ofClass = (qosClass: string): Candidate<P>[] =>
    preemptable.filter(({ pod }) => computePodQOS(pod) === qosClass);
  const [bestEffort, burstable, guaranteed] = [ofClass('BestEffort'), ofClass('Burstable'), ofClass('Guaranteed')];
  requireEmpty(subtract(requirements, preemptable));
  const guaranteedToEvict = closest(guaranteed, subtract(requirements, [...bestEffort, ...burstable]));
  const burstableToEvict = closest(burstable, subtract(requirements, [...bestEffort, ...guaranteedToEvict]));
  const others = [...burstableToEvict, ...guaranteedToEvict];
  return [...closest(bestEffort, subtract(requirements, others)), ...others].map(({ pod }) => pod);
}

interface Candidate<P extends Pod> {
  readonly pod: P;
  readonly requested: ReadonlyMap<string, number>;
}

type Requested = Pick<Candidate<Pod>, 'requested'>;

/** Source: kubelet `Preemptable`. */
function isPreemptable(preemptor: Pod, pod: Pod): boolean {
  if (isCriticalPod(preemptor) && !isCriticalPod(pod)) return true;
  const [priority, other] = [preemptor.spec?.priority, pod.spec?.priority];
  return priority != null && other != null && priority > other;
}

/** Source: kubelet `getPodsToPreemptByDistance`. */
function closest<C extends Requested>(list: readonly C[], requirements: readonly AdmissionRequirement[]): C[] {
  const candidates = [...list];
  const chosen: C[] = [];
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
function distance(requirements: readonly AdmissionRequirement[], { requested }: Requested): number {
  return requirements.reduce((sum, { resource, amount }) => {
    const remaining = amount - (requested.get(resource) ?? 0);
    return remaining > 0 ? sum + (remaining / amount) ** 2 : sum;
  }, 0);
}

/** The requirements that remain after preempting the pods. Source: kubelet `admissionRequirementList.subtract`. */
function subtract(requirements: readonly AdmissionRequirement[], list: readonly Requested[]): AdmissionRequirement[] {
  return requirements
    .map(({ resource, amount }) => ({
      resource,
      amount: list.reduce((left, { requested }) => left - (requested.get(resource) ?? 0), amount),
    }))
    .filter(({ amount }) => amount > 0);
}

/** Source: kubelet `smallerResourceRequest`. */
function requestsAtMost({ requested: a }: Requested, { requested: b }: Requested): boolean {
  const memory = (a.get('memory') ?? 0) - (b.get('memory') ?? 0);
  return memory !== 0 ? memory < 0 : (a.get('cpu') ?? 0) <= (b.get('cpu') ?? 0);
}

function requireEmpty(requirements: readonly AdmissionRequirement[]): void {
  if (requirements.length === 0) return;
  const listed = requirements.map(({ resource, amount }) => `(res: ${resource}, q: ${amount}), `).join('');
  throw new Error(
    `preemption: error finding a set of pods to preempt: no set of running pods found to reclaim resources: [${listed}]`,
  );
}
