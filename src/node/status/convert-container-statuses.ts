import { actualResources } from '../../status-manager/status/actual-resources.ts';
import sortBy from 'lodash/sortBy.js';
import { allBy, firstBy } from '../../shared/by-field.ts';
import type {
  Container,
  ContainerStatusInput,
  EphemeralContainer,
  Mutable,
  Pod,
  VolumeMount,
  VolumeMountStatus,
  ResourceRequirementsInput,
} from '../../kube/objects/types.ts';
import { isRestartableInitContainer } from '../../status-manager/status/container-restart.ts';
import { timeFromEpochMs } from '../../shared/time.ts';
import { hasAnyRegularContainerCreated, shouldContainerBeRestarted } from './should-container-be-restarted.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../runtime/runtime-pod-status.ts';

/** Why the last attempt to start a container failed, for its status. Source: kubelet reason cache. */
export interface StartFailure {
  /** `ImagePullBackOff`, `CreateContainerConfigError`, `CrashLoopBackOff`, … */
  readonly reason: string;
  readonly message?: string | undefined;
  /** True if the state of the container is unknown: then it does not count as completed either. Default: false. */
  readonly isUnknown?: boolean | undefined;
}

/** The last start failures of a pod's containers by name, for example a `Map`. */
export interface StartFailures {
  /** Why this container did not start; undefined if no start has failed. */
  get(containerName: string): StartFailure | undefined;
}

/** The input for the container statuses. */
export interface ContainerStatusesInput {
  readonly pod: Pod;
  readonly runtimeStatus: RuntimePodStatus;
  /** The last reported statuses of the same containers. */
  readonly previous: readonly ContainerStatusInput[] | null | undefined;
  readonly startFailures: StartFailures;
  /** `shouldAllContainersRestart`. */
  readonly isRestartingAllContainers: boolean;
}

type Status = Mutable<ContainerStatusInput>;
type State = NonNullable<ContainerStatusInput['state']>;
type Terminated = NonNullable<State['terminated']>;

/** The exit code of a container that is assumed to have been killed by SIGKILL. */
const lostExitCode = 137;
/** The API has an int32. */
const maxRestartCount = 2 ** 31 - 1;
const removedForRestart = {
  reason: 'RestartingAllContainers',
  message: 'The container is removed because RestartAllContainers in place',
} as const;

/**
 * One status for each of `containers` (the regular or the ephemeral ones of the spec), sorted by
 * name. It has the state of the newest run, the terminated state of the run before it as lastState, and
 * for a container that could not be started the reason why it is waiting. A container that the runtime
 * no longer knows keeps its previous terminated state, or gets one with the reason `ContainerStatusUnknown`.
 * `ready` and `started` are not final: `updatePodStatus` sets them by the probe results.
 * Source: kubelet `convertToAPIContainerStatuses`.
 *
 * Divergence: a lastState has exactly one state. The kubelet adds `terminated` to a lastState that has
 * `running` or `waiting`, so that it has two.
 */
export function convertToAPIContainerStatuses(
  input: ContainerStatusesInput,
  containers: readonly (Container | EphemeralContainer)[],
): ContainerStatusInput[] {
  const knownOf = knownByName(input);
  const statuses = containers.map((container) => {
    const known = knownOf(container);
    return withStartFailure(input, container, known, containerStatus(input, container, known));
  });
  return sortBy(statuses, ({ name }) => name ?? '');
}

/**
 * Like `convertToAPIContainerStatuses`, for the init containers, in the order of the spec. One that
 * the runtime no longer knows has completed if a regular container was created after it, unless its `StartFailure` says `isUnknown`.
 */
export function convertToAPIInitContainerStatuses(input: ContainerStatusesInput): ContainerStatusInput[] {
  const { pod, runtimeStatus } = input;
  const knownOf = knownByName(input);
  const wasAnyRegularCreated = hasAnyRegularContainerCreated(pod, runtimeStatus);
  return (pod.spec?.initContainers ?? []).map((container) => {
    const known = knownOf(container);
    const { newest } = known;
    const status = containerStatus(input, container, known);
    if (newest?.state === 'exited' && (newest.exitCode ?? 0) === 0) return status;
    const hasCompleted =
      newest === undefined &&
      !isRestartableInitContainer(container) &&
      status.state?.waiting != null &&
      wasAnyRegularCreated &&
      input.startFailures.get(container.name)?.isUnknown !== true;
    if (!hasCompleted) return withStartFailure(input, container, known, status);
    return {
      ...status,
      state: {
        terminated: {
          reason: 'Completed',
          message:
            'Unable to get init container status from container runtime and pod has been initialized, treat it as exited normally',
          exitCode: 0,
        },
      },
    };
  });
}

/** What is known of one container. */
interface Known {
  readonly previous: ContainerStatusInput | undefined;
  readonly newest: RuntimeContainerStatus | undefined;
  /** The run before the newest one. */
  readonly before: RuntimeContainerStatus | undefined;
}

function knownByName({ previous, runtimeStatus }: ContainerStatusesInput): (container: { name: string }) => Known {
  const statusByName = firstBy(previous, 'name');
  const runsByName = allBy(runtimeStatus.containers, 'name');
  return ({ name }) => {
    const [newest, before] = runsByName.get(name) ?? [];
    return { previous: statusByName.get(name), newest, before };
  };
}

function containerStatus(
  input: ContainerStatusesInput,
  container: Container | EphemeralContainer,
  { previous, newest, before }: Known,
): Status {
  if (newest === undefined) return statusWithoutRun(input, container, previous);

  const status = statusOfRun(newest, previous, input.isRestartingAllContainers);
  if (newest.state === 'running' && previous?.started != null) status.started = previous.started;
  status.resources = containerStatusResources(container.resources, newest, previous);
  if (container.resources?.requests) status.allocatedResources = container.resources.requests;
  if (newest.allocatedResourcesStatus !== undefined) status.allocatedResourcesStatus = newest.allocatedResourcesStatus;
  if (newest.user !== undefined) status.user = newest.user;
  // Only if the spec has one: the feature gate ContainerStopSignals is off by default, but containerd 2 always reports a
  // signal.
  if (newest.stopSignal !== undefined && container.lifecycle?.stopSignal != null) status.stopSignal = newest.stopSignal;
  if (before !== undefined) {
    status.lastState = statusOfRun(before, previous, input.isRestartingAllContainers).state;
  }
  return status;
}

/** The runtime knows no run of the container. */
function statusWithoutRun(
  { pod, isRestartingAllContainers }: ContainerStatusesInput,
  container: Container | EphemeralContainer,
  previous: ContainerStatusInput | undefined,
): Status {
  const status = initialStatus(pod, container, previous);
  if (previous === undefined) return status;

  if (isRestartingAllContainers && previous.state?.waiting == null) {
    status.state = { waiting: removedForRestart };
    status.lastState = { terminated: { ...removedForRestart, exitCode: lostExitCode } };
    status.restartCount = incremented(previous.restartCount);
  } else if (previous.state?.running != null && previous.lastState?.terminated == null) {
    // It was running when it was last seen, so it has ended. Without this the pod would return to Pending.
    status.lastState = {
      terminated: {
        reason: 'ContainerStatusUnknown',
        message: 'The container could not be located when the pod was deleted.  The container used to be Running',
        exitCode: lostExitCode,
      },
    };
    if (pod.metadata?.deletionTimestamp == null) status.restartCount = incremented(status.restartCount);
  }
  return status;
}

/** The status of a container before its first known run; a previous terminated state is kept. */
function initialStatus(
  pod: Pod,
  container: Container | EphemeralContainer,
  previous: ContainerStatusInput | undefined,
): Status {
  if (previous?.state?.terminated != null) return { ...previous };
  const hasInitContainers = (pod.spec?.initContainers ?? []).length > 0;
  const { volumeMounts = [] } = container;
  return {
    name: container.name,
    state: { waiting: { reason: hasInitContainers ? 'PodInitializing' : 'ContainerCreating' } },
    lastState: previous?.lastState ?? {},
    ready: false,
    restartCount: previous?.restartCount ?? 0,
    image: container.image ?? '',
    imageID: '',
    ...(volumeMounts.length > 0 && { volumeMounts: volumeMountStatuses(volumeMounts) }),
  };
}

function statusOfRun(
  run: RuntimeContainerStatus,
  previous: ContainerStatusInput | undefined,
  isRestartingAllContainers: boolean,
): Status {
  const attempt = run.attempt ?? 0;
  const status: Status = {
    name: run.name,
    state: { waiting: {} },
    lastState: lastStateByPrevious(run, previous),
    ready: false,
    restartCount: Math.min(Math.max(attempt, previous?.restartCount ?? 0), maxRestartCount),
    image: run.image ?? '',
    imageID: run.imageRef ?? run.imageID ?? '',
    containerID: run.id,
    ...(previous?.volumeMounts && { volumeMounts: volumeMountsOfRun(run, previous.volumeMounts) }),
  };
  switch (run.state) {
    case 'running':
      status.state = { running: { startedAt: time(run.startedAtMs) } };
      if (previous?.state?.terminated != null && (previous.restartCount ?? 0) >= attempt) {
        status.restartCount = incremented(previous.restartCount);
      }
      break;
    case 'exited':
      status.state = { terminated: endOf(run) };
      break;
    case 'unknown':
      // Waiting would mean that it is started again, although this container has run.
      if (previous?.state?.running != null) {
        status.state = {
          terminated: {
            reason: isRestartingAllContainers ? 'RestartingAllContainers' : 'ContainerStatusUnknown',
            message: 'The container could not be located when the pod was terminated',
            exitCode: lostExitCode,
          },
        };
        status.restartCount = incremented(previous.restartCount);
      }
      break;
    case 'created':
      break;
  }
  return status;
}

/** RestartAllContainers removes the earlier runs, so only the previous status has their terminated states. */
function lastStateByPrevious(run: RuntimeContainerStatus, previous: ContainerStatusInput | undefined): State {
  const isOfEarlierRun = previous?.containerID !== run.id;
  const terminated = (isOfEarlierRun ? previous?.state?.terminated : undefined) ?? previous?.lastState?.terminated;
  return terminated == null ? {} : { terminated };
}

function endOf(run: RuntimeContainerStatus): Terminated {
  return {
    exitCode: run.exitCode ?? 0,
    ...(run.reason && { reason: run.reason }),
    ...(run.message && { message: run.message }),
    startedAt: time(run.startedAtMs),
    finishedAt: time(run.finishedAtMs),
    containerID: run.id,
  };
}

/** A container that could not be started waits, with the reason of the failure. */
function withStartFailure(
  { pod, startFailures }: ContainerStatusesInput,
  container: Container | EphemeralContainer,
  { newest }: Known,
  status: Status,
): Status {
  if (!shouldContainerBeRestarted(container, pod, newest)) return status;
  const failure = startFailures.get(container.name);
  if (failure === undefined) return status;
  return {
    ...status,
    ...(status.state?.terminated != null && { lastState: status.state }),
    state: { waiting: { reason: failure.reason, ...(failure.message && { message: failure.message }) } },
  };
}

function time(epochMs: number | undefined): string | null {
  return epochMs === undefined ? null : timeFromEpochMs(epochMs);
}

/** With the read-only mounts that the runtime has made recursive. */
function volumeMountsOfRun(
  { recursiveReadOnlyMounts = [] }: RuntimeContainerStatus,
  previous: NonNullable<ContainerStatusInput['volumeMounts']>,
): NonNullable<ContainerStatusInput['volumeMounts']> {
  if (recursiveReadOnlyMounts.length === 0) return previous;
  const recursive = new Set(recursiveReadOnlyMounts);
  return previous.map((mount) =>
    mount.readOnly && recursive.has(`/${(mount.mountPath ?? '').replace(/^\//, '')}`)
      ? { ...mount, recursiveReadOnly: 'Enabled' }
      : mount,
  );
}

/**
 * The volume mounts of a container that has not been created yet. Source: kubelet `convertToAPIContainerStatuses`.
 *
 * Divergence: a recursive read-only mount is shown as `Enabled` once the runtime has made it; in the kubelet from the
 * beginning.
 */
function volumeMountStatuses(volumeMounts: readonly VolumeMount[]): readonly VolumeMountStatus[] {
  return volumeMounts.map(({ name, mountPath, readOnly }) => ({
    name,
    mountPath,
    ...(readOnly && { readOnly: true, recursiveReadOnly: 'Disabled' }),
  }));
}

function incremented(restartCount: number | null | undefined): number {
  return Math.min((restartCount ?? 0) + 1, maxRestartCount);
}

type Resources = NonNullable<ContainerStatusInput['resources']>;

/**
 * The resources in a container's status: those that the spec allocates. While it is running, cpu and
 * memory are those that the runtime reports, or else those of the previous status of the same run.
 * Source: kubelet `convertContainerStatusResources`.
 */
function containerStatusResources(
  allocated: ResourceRequirementsInput | undefined,
  container: RuntimeContainerStatus,
  previous: ContainerStatusInput | undefined,
): Resources {
  if (container.state !== 'running') return { ...allocated };
  const isSameRun = previous?.state?.running != null && previous.containerID === container.id;
  const before = isSameRun ? previous.resources : undefined;
  const actual = (kind: 'limits' | 'requests'): ResourceRequirementsInput => {
    const list = allocated?.[kind];
    return list == null ? {} : { [kind]: actualResources(kind, list, container.resources?.[kind], before?.[kind]) };
  };
  return { ...allocated, ...actual('limits'), ...actual('requests') };
}
