import { epochMsOf } from '../../shared/time.ts';
import { formatText, formatTime } from '../../status-manager/explain/format.ts';
import { leaseProblem, nodeStatusProblem, sentences } from '../../node/index.ts';
import type { NodeAgentInspection } from './node-agent-inspection.ts';

/** The agent lists the pods of its runtime at least every 10 s. */
const relistLateMs = 30_000;

type Failure = string | undefined;

/** Why the agent does not know its containers; undefined while it does, or if it does not run. */
export function runtimeProblem({ state, runtime }: NodeAgentInspection, nowMs: number): Failure {
  if (state !== 'running') return undefined;
  const { failure, relistedAt } = runtime;
  if (failure !== undefined)
    return `the runtime fails since ${formatTime(failure.failingSince, nowMs)}: ${formatText(failure.reason)}`;
  if (relistedAt === undefined || nowMs - epochMsOf(relistedAt) < relistLateMs) return undefined;
  return `the runtime has not listed its pods since ${formatTime(relistedAt, nowMs)}`;
}

/** Which eviction thresholds are met, and what was evicted while the Node is under pressure. */
function evictionProblems({ eviction }: NodeAgentInspection, nowMs: number): string[] {
  if (eviction === undefined) return [];
  const { failure, metThresholds, pressure, lastEviction } = eviction;
  const problems = metThresholds.map(({ signal, threshold, reclaimTarget, available, since, isEvicting }) => {
    const what = `${signal} fell below the eviction threshold ${threshold} at ${formatTime(since, nowMs)}`;
    const action = isEvicting
      ? `pods are evicted until ${reclaimTarget} is available`
      : 'its grace period has not passed';
    return `${what}: ${available} available; ${action}`;
  });
  if (failure !== undefined)
    problems.push(
      `checking whether pods must be evicted fails since ${formatTime(failure.failingSince, nowMs)}: ${formatText(failure.reason)}`,
    );
  if (pressure.length > 0 && lastEviction !== undefined) {
    const { pod, at, message } = lastEviction;
    problems.push(`the pod ${pod} was evicted at ${formatTime(at, nowMs)}: ${formatText(message.replace(/\. $/, ''))}`);
  }
  return problems;
}

/**
 * What is wrong with an agent, one sentence each, for people. There are no ages, so that a sentence changes only when
 * something happens or another amount is observed.
 */
export function agentProblems(inspection: NodeAgentInspection, nowMs: number): string[] {
  const { state, syncLoop, refusedManifests } = inspection;
  const problems: Failure[] = [runtimeProblem, leaseProblem, nodeStatusProblem].map((of) => of(inspection, nowMs));
  if (state === 'running') problems.push(...evictionProblems(inspection, nowMs));
  if (state === 'running' && syncLoop.housekeepingFailingSince !== undefined)
    problems.push(`housekeeping fails since ${formatTime(syncLoop.housekeepingFailingSince, nowMs)}`);
  for (const { source, reason } of refusedManifests)
    problems.push(`the manifest ${source} is invalid: ${formatText(reason)}`);
  return sentences(problems);
}
