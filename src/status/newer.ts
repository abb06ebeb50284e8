import type { PodStatus } from '../types.ts';
import { podConditionByKubelet } from './conditions.ts';
import { isPodPhaseTerminal } from './phase.ts';

const containerMembers = ['initContainerStatuses', 'containerStatuses', 'ephemeralContainerStatuses'] as const;

/**
 * True when the API server shows something that happened after `status` was accepted: a terminal
 * phase it does not know, a later restart, or a time after `acceptedAt` (a canonical time). For a
 * status that was kept over a restart of the agent, of which nobody knows whether it is the last.
 */
export function showsNewer(apiStatus: PodStatus, status: PodStatus, acceptedAt: string): boolean {
  if (isPodPhaseTerminal(apiStatus.phase) && !isPodPhaseTerminal(status.phase)) return true;
  for (const member of containerMembers) {
    for (const { name, restartCount } of apiStatus[member] ?? []) {
      const ours = status[member]?.find((container) => container.name === name);
      if (ours !== undefined && restartCount > ours.restartCount) return true;
    }
  }
  return latestTime(apiStatus) > acceptedAt;
}

/** The latest canonical time of our conditions and the containers; `''` when there is none. Canonical times sort as text. */
export function latestTime(status: PodStatus): string {
  let latest = '';
  const note = (time: string | null | undefined): void => {
    if (time != null && time > latest) latest = time;
  };
  for (const { type, lastTransitionTime } of status.conditions ?? []) {
    if (podConditionByKubelet(type)) note(lastTransitionTime);
  }
  for (const member of containerMembers) {
    for (const { state, lastState } of status[member] ?? []) {
      for (const { running, terminated } of [state, lastState]) {
        note(running?.startedAt);
        note(terminated?.finishedAt);
      }
    }
  }
  return latest;
}
