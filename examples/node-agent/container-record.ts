import type {
  Clock,
  Container,
  ContainerState,
  ContainerStateRunning,
  ContainerStateTerminated,
  ContainerStatus,
  Pod,
  PodStatus,
} from 'kubelet-status-manager';
import type { ContainerExit, RunningContainer } from './container-runtime.ts';
import {
  type CrashLoopBackOff,
  crashLoopBackOffAfterExit,
  type CrashLoopLimits,
  nextCrashLoopBackOff,
} from './crash-loop-back-off.ts';

/** A sidecar is an init container with `restartPolicy: Always`: started in order, then kept running. */
export type ContainerRole = 'init' | 'sidecar' | 'regular';

const crashLoopBackOff = 'CrashLoopBackOff';

/** What the agent knows about one container. The functions below are its only writers. */
export interface ContainerRecord {
  readonly spec: Container;
  readonly role: ContainerRole;
  /** The status that is published. */
  status: ContainerStatus;
  /** `starting` from the moment a start is requested. Absent when nothing runs. */
  process?: 'starting' | RunningContainer;
  /** Its spec can never be started. */
  misconfigured: boolean;
  /** On the monotonic clock, as all times ending in `Ms` here. */
  finishedAtMs: number;
  backOff: CrashLoopBackOff | undefined;
}

/**
 * The records of a pod's containers, in the order of its spec: init containers first. A pod that an
 * earlier agent ran continues from its status on the API server; containers that ran then are lost.
 */
export function createContainerRecords(pod: Pod, clock: Clock): ContainerRecord[] {
  const initContainers = pod.spec?.initContainers ?? [];
  const { initContainerStatuses = [], containerStatuses = [] } = (pod.status ?? {}) as PodStatus;
  const known = new Map([...initContainerStatuses, ...containerStatuses].map((status) => [status.name, status]));
  const create = (spec: Container, role: ContainerRole): ContainerRecord => ({
    spec,
    role,
    status: recoverStatus(spec, known.get(spec.name), initContainers.length > 0, isoTime(clock)),
    misconfigured: false,
    backOff: undefined,
    finishedAtMs: clock.monotonicMs(),
  });
  return [
    ...initContainers.map((spec) => create(spec, spec.restartPolicy === 'Always' ? 'sidecar' : 'init')),
    ...(pod.spec?.containers ?? []).map((spec) => create(spec, 'regular')),
  ];
}

function recoverStatus(
  spec: Container,
  known: ContainerStatus | undefined,
  hasInitContainers: boolean,
  now: string,
): ContainerStatus {
  if (known?.state?.running)
    return {
      ...known,
      state: { terminated: lostWhileRunning(known.state.running, now) },
      ready: false,
      started: false,
    };
  return {
    state: { waiting: { reason: hasInitContainers ? 'PodInitializing' : 'ContainerCreating' } },
    lastState: {},
    ready: false,
    started: false,
    restartCount: 0,
    imageID: '',
    ...known,
    name: spec.name,
    image: spec.image ?? '',
  };
}

function lostWhileRunning({ startedAt }: ContainerStateRunning, now: string): ContainerStateTerminated {
  return {
    exitCode: 137,
    reason: 'ContainerStatusUnknown',
    message: 'The process was lost when the agent that ran it ended',
    startedAt,
    finishedAt: now,
  };
}

/** Returns the restart count of this run, which is published once the container runs. */
export function markStarting(record: ContainerRecord, clock: Clock, limits: CrashLoopLimits): number {
  record.process = 'starting';
  if (lastExitCode(record) === undefined) return record.status.restartCount;
  record.backOff = nextCrashLoopBackOff(record.backOff, clock.monotonicMs(), limits);
  return record.status.restartCount + 1;
}

/** There are no probes, so a running container has started and is ready. */
export function markRunning(
  record: ContainerRecord,
  process: RunningContainer,
  restartCount: number,
  clock: Clock,
): void {
  record.process = process;
  record.status = {
    ...record.status,
    state: { running: { startedAt: isoTime(clock) } },
    lastState: lastStateOf(record),
    restartCount,
    ready: record.role !== 'init',
    started: record.role !== 'init',
    containerID: process.id,
  };
}

export function markExited(record: ContainerRecord, exit: ContainerExit, clock: Clock, limits: CrashLoopLimits): void {
  const { state, containerID } = record.status;
  delete record.process;
  record.finishedAtMs = clock.monotonicMs();
  record.backOff = crashLoopBackOffAfterExit(record.backOff, record.finishedAtMs, limits);
  record.status = {
    ...record.status,
    state: {
      terminated: {
        ...exit,
        startedAt: state.running?.startedAt ?? null,
        finishedAt: isoTime(clock),
        ...(containerID !== undefined && { containerID }),
      },
    },
    ready: record.role === 'init' && exit.exitCode === 0,
    started: false,
  };
}

/** A start that failed. To the restart policy it is a failed run. */
export function markStartFailed(
  record: ContainerRecord,
  restartCount: number,
  message: string,
  clock: Clock,
  limits: CrashLoopLimits,
): void {
  const { containerID: _ofEarlierRun, ...status } = record.status;
  record.status = { ...status, state: {}, lastState: lastStateOf(record), restartCount };
  markExited(record, { exitCode: 128, reason: 'StartError', message }, clock, limits);
}

export function markMisconfigured(record: ContainerRecord, message: string): void {
  delete record.process;
  record.misconfigured = true;
  record.status = { ...record.status, state: { waiting: { reason: 'CreateContainerConfigError', message } } };
}

export function markBackingOff(record: ContainerRecord, podName: string): void {
  const message = `back-off ${(record.backOff?.delayMs ?? 0) / 1000}s restarting failed container=${record.spec.name} pod=${podName}`;
  record.status = {
    ...record.status,
    lastState: lastStateOf(record),
    state: { waiting: { reason: crashLoopBackOff, message } },
  };
}

/** The pod ends while the container waits for its restart, so the status shows how the last run ended. */
export function endBackOff(record: ContainerRecord): void {
  const { state, lastState } = record.status;
  if (state.waiting?.reason !== crashLoopBackOff || lastState.terminated === undefined) return;
  record.status = { ...record.status, state: { terminated: lastState.terminated }, lastState: {} };
}

/** The exit code that decides whether to restart, also for a container that waits for its restart. */
export function lastExitCode(record: ContainerRecord): number | undefined {
  const { state, lastState } = record.status;
  return (state.terminated ?? (state.waiting ? lastState.terminated : undefined))?.exitCode;
}

function lastStateOf({ status }: ContainerRecord): ContainerState {
  return status.state.terminated ? { terminated: status.state.terminated } : status.lastState;
}

function isoTime(clock: Clock): string {
  return new Date(clock.now()).toISOString();
}
