import { firstBy } from '../../shared/by-field.ts';
import type { ContainerStatus, PodStatus } from '../../kube/objects/types.ts';
import { podConditionByKubelet } from './ownership.ts';
import { containerStatusesFields } from './container-statuses.ts';
import { isPodPhaseTerminal } from './phase.ts';

/**
 * True when the API server shows something that happened after `status` was accepted: a terminal phase
 * that `status` lacks, a later restart, or a time after `acceptedAt` (a canonical time). For a status
 * that was recorded before a restart of the agent and may be outdated. Times of conditions count only
 * if neither the containers nor the phase decide: while an agent is away, the node controller sets
 * Ready on each of its pods, and the merge makes a terminal pod unready after its status was accepted.
 */
export function isServerNewer(apiStatus: PodStatus, status: PodStatus, acceptedAt: string): boolean {
  const isTerminal = isPodPhaseTerminal(status.phase);
  if (isPodPhaseTerminal(apiStatus.phase) && !isTerminal) return true;
  if (someContainer(apiStatus, status, hasMoreRestarts) || latestContainerTime(apiStatus) > acceptedAt) return true;
  if (isTerminal || someContainer(status, apiStatus, isAhead)) return false;
  return latestConditionTime(apiStatus) > acceptedAt;
}

/** The latest canonical time of our conditions and the containers; `''` when there is none. */
export function latestTime(status: PodStatus): string {
  return latestOf([latestConditionTime(status), latestContainerTime(status)]);
}

type Comparison = (container: ContainerStatus, other: ContainerStatus) => boolean;

/** True when `compares` holds for a container of `status` and the one of the same name in `other`. */
function someContainer(status: PodStatus, other: PodStatus, compares: Comparison): boolean {
  return containerStatusesFields.some((field) => {
    const others = firstBy(other[field], 'name');
    return (status[field] ?? []).some((container) => {
      const theirs = others.get(container.name);
      return theirs !== undefined && compares(container, theirs);
    });
  });
}

function hasMoreRestarts({ restartCount }: ContainerStatus, other: ContainerStatus): boolean {
  return restartCount > other.restartCount;
}

/** Times are compared last, because the wall clock may have jumped back. */
function isAhead(container: ContainerStatus, other: ContainerStatus): boolean {
  if (container.restartCount !== other.restartCount) return hasMoreRestarts(container, other);
  const isTerminated = container.state.terminated !== undefined;
  if (isTerminated !== (other.state.terminated !== undefined)) return isTerminated;
  return timeOf(container) > timeOf(other);
}

function latestContainerTime(status: PodStatus): string {
  return latestOf(containerStatusesFields.flatMap((field) => (status[field] ?? []).map(timeOf)));
}

function latestConditionTime({ conditions = [] }: PodStatus): string {
  return latestOf(
    conditions.filter(({ type }) => podConditionByKubelet(type)).map(({ lastTransitionTime }) => lastTransitionTime),
  );
}

function timeOf({ state, lastState }: ContainerStatus): string {
  return latestOf(
    [state, lastState].flatMap(({ running, terminated }) => [running?.startedAt, terminated?.finishedAt]),
  );
}

/** Canonical times sort as text. `''` when there is none. */
export function latestOf(times: readonly (string | null | undefined)[]): string {
  return times.reduce<string>((latest, time) => (time != null && time > latest ? time : latest), '');
}
