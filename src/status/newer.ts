import type { ContainerState, PodStatus } from '../types.ts';
import { podConditionByKubelet } from './conditions.ts';
import { isPodPhaseTerminal } from './merge.ts';

/**
 * True when the API server shows something that happened after `status` was accepted: a terminal
 * phase it does not know, a later restart, or a time after `acceptedAt` (a canonical time). For a
 * status that was kept over a restart of the agent, of which nobody knows whether it is the last.
 */
export function showsNewer(apiStatus: PodStatus, status: PodStatus, acceptedAt: string): boolean {
  if (isPodPhaseTerminal(apiStatus.phase) && !isPodPhaseTerminal(status.phase)) return true;
  const times = (apiStatus.conditions ?? [])
    .filter(({ type }) => podConditionByKubelet(type))
    .map(({ lastTransitionTime }) => lastTransitionTime);
  for (const member of ['initContainerStatuses', 'containerStatuses', 'ephemeralContainerStatuses'] as const) {
    for (const { name, restartCount, state, lastState } of apiStatus[member] ?? []) {
      const ours = status[member]?.find((container) => container.name === name);
      if (ours !== undefined && restartCount > ours.restartCount) return true;
      times.push(...timesOf(state), ...timesOf(lastState));
    }
  }
  // Canonical times sort as text.
  return times.some((time) => time !== null && time > acceptedAt);
}

function timesOf({ running, terminated }: ContainerState): (string | null)[] {
  return [running?.startedAt ?? null, terminated?.finishedAt ?? null];
}
