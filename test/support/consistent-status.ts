import isEqual from 'lodash/isEqual.js';
import type { Pod, PodConditionInput, PodStatusInput } from 'kubelet-status-manager';
import {
  generateContainersReadyCondition,
  generatePodInitializedCondition,
  generatePodReadyCondition,
} from '../../src/status-manager/status/generate-conditions.ts';
import { getPhase, isPodPhaseTerminal, type PodPhase } from '../../src/status-manager/status/phase.ts';

/**
 * Throws unless the conditions and the phase of `status` follow from the containers that it lists itself.
 * @param staysRunning true for a virtual node: what the cloud restarts has run, although its end may not be known
 */
export function expectConsistent(
  pod: Pod,
  status: PodStatusInput,
  before: PodStatusInput | undefined,
  { staysRunning = false } = {},
): void {
  const statuses = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  const outcome = ({ type, status, reason, message }: PodConditionInput) => ({ type, status, reason, message });
  const phase = status.phase ?? '';
  const generated = [
    generatePodInitializedCondition(pod, before, statuses, phase),
    generatePodReadyCondition(pod, before, status.conditions, statuses, phase),
    generateContainersReadyCondition(pod, before, statuses, phase),
  ];
  const shown = (status.conditions ?? []).filter(({ type }) => generated.some((condition) => condition.type === type));
  const fail = (what: string, shown: unknown, derived: unknown): never => {
    const inputs = { spec: pod.spec, before, status };
    throw new Error(
      `${what}: ${JSON.stringify(shown)} is shown, ${JSON.stringify(derived)} follows; ${JSON.stringify(inputs)}`,
    );
  };
  if (!isEqual(shown.map(outcome), generated.map(outcome)))
    fail('conditions', shown.map(outcome), generated.map(outcome));
  const phases = phasesOf(pod, status, before);
  if (staysRunning && before?.phase === 'Running' && phases.includes('Pending')) phases.push('Running');
  if (!phases.some((derivedPhase) => derivedPhase === status.phase)) fail('phase', status.phase, phases);
}

/** A phase also says whether the pod will run again, and whether a sidecar had started before; its containers do not. */
function phasesOf(pod: Pod, status: PodStatusInput, before: PodStatusInput | undefined): unknown[] {
  // Evicted, or past its deadline.
  if (status.reason) return ['Failed'];
  const regular = status.containerStatuses ?? [];
  const init = status.initContainerStatuses ?? [];
  const startedBefore = init.map((container) => {
    const earlier = before?.initContainerStatuses?.find(({ name }) => name === container.name);
    return { ...container, started: earlier?.started };
  });
  const phases = [init, startedBefore].flatMap((sidecars) =>
    [false, true].flatMap((isTerminal) =>
      [false, true].map((hasInitialized) => getPhase(pod, [...sidecars, ...regular], isTerminal, hasInitialized)),
    ),
  );
  // Only a condition has changed.
  if (isEqual([init, regular], [before?.initContainerStatuses ?? [], before?.containerStatuses]))
    phases.push(before?.phase as PodPhase);
  // A pod that has ended has ended, whatever runs.
  return isPodPhaseTerminal(before?.phase) ? [before.phase, ...phases.filter(isPodPhaseTerminal)] : phases;
}
