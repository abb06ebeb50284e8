import { type Pick, reformat, reformatStatus } from '../support/reformat.ts';
import type { Trace, TraceStep } from './trace.ts';

/** Steps whose pod is read by this library only. The API server's objects are compared unchanged. */
const podsReadByUs: ReadonlySet<string> = new Set(['pods.set', 'setPodStatus', 'terminatePod']);

/**
 * The same trace with the statuses of callers and pod managers in other valid formats, chosen by
 * `seed`. The kubelet reads all formats into the same structs, so the expectations stay the same.
 */
export function reformatTrace(trace: Trace, seed: number): Trace {
  const pick = seededPick(seed);
  return { ...trace, steps: trace.steps.map((step) => reformatStep(step, pick)) };
}

function reformatStep(step: TraceStep, pick: Pick): TraceStep {
  const { status, oldStatus, health, pod } = step;
  const reformatsPod = podsReadByUs.has(step.op) && pod?.status != null;
  return {
    ...step,
    ...(status && { status: reformatStatus(status, pick) }),
    ...(oldStatus && { oldStatus: reformatStatus(oldStatus, pick) }),
    ...(health && { health: reformat(health, 'healthConditions', pick) as NonNullable<TraceStep['health']> }),
    ...(reformatsPod && { pod: { ...pod, status: reformatStatus(pod.status, pick) } }),
  };
}

/** The same seed always gives the same choices. Source: Numerical Recipes, linear congruential generator. */
function seededPick(seed: number): Pick {
  let state = seed >>> 0;
  return (choices) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return choices[(state >>> 16) % choices.length];
  };
}
