import { containerShouldRestart, type PodSpec } from 'kubelet-status-manager';
import { type ContainerRecord, lastExitCode } from './container-record.ts';

/** What to do for a pod whose termination was not requested. */
export interface PodActions {
  /** Containers to start now. */
  readonly toStart: readonly ContainerRecord[];
  /** Containers to start when their crash-loop back-off is over. */
  readonly backingOff: readonly ContainerRecord[];
  /** No container will be started again, so sidecars that still run can be stopped. */
  readonly finished: boolean;
}

/**
 * Decides from the records alone, as they are at `nowMs`. Init containers run one after the other,
 * each until it succeeds (a sidecar: until it runs). Then the regular containers start together. A
 * container that has ended is restarted if its restart policy says so.
 * Source: kubelet `computePodActions`.
 */
export function computePodActions(spec: PodSpec, records: readonly ContainerRecord[], nowMs: number): PodActions {
  const regular = records.filter(({ role }) => role === 'regular');
  const isInitialized = regular.some((record) => record.process !== undefined || lastExitCode(record) !== undefined);
  const toStart: ContainerRecord[] = [];
  const backingOff: ContainerRecord[] = [];

  for (const record of records) {
    if (record.role === 'init' && isInitialized) continue;
    if (canStart(spec, record)) {
      (restartAtMs(record) > nowMs ? backingOff : toStart).push(record);
    }
    if (record.role !== 'regular' && !isInitialized && !allowsNext(record)) {
      return { toStart, backingOff, finished: record.role === 'init' && hasEndedForGood(spec, record) };
    }
  }
  return { toStart, backingOff, finished: regular.every((record) => hasEndedForGood(spec, record)) };
}

/** When a container that has ended may be restarted. For all others, a time in the past. */
export function restartAtMs(record: ContainerRecord): number {
  return record.backOff ? record.finishedAtMs + record.backOff.delayMs : 0;
}

function allowsNext(record: ContainerRecord): boolean {
  return record.role === 'sidecar' ? record.status.state.running !== undefined : lastExitCode(record) === 0;
}

function canStart(spec: PodSpec, record: ContainerRecord): boolean {
  if (record.process !== undefined || record.misconfigured) return false;
  const exitCode = lastExitCode(record);
  if (exitCode === undefined) return true;
  // An init container that has succeeded is never restarted, whatever the pod's restart policy is.
  if (record.role === 'init' && exitCode === 0) return false;
  return containerShouldRestart(record.spec, spec, exitCode);
}

function hasEndedForGood(spec: PodSpec, record: ContainerRecord): boolean {
  return record.process === undefined && lastExitCode(record) !== undefined && !canStart(spec, record);
}
