import { firstBy } from '../../shared/by-field.ts';
import { requireObject } from '../../shared/errors.ts';
import type {
  Container,
  ContainerStatusInput,
  Input,
  ContainerStateTerminated,
  Pod,
  PodSpec,
} from '../../kube/objects/types.ts';
import { containerShouldRestart, isRestartableInitContainer } from './container-restart.ts';
import { isStaticPod } from '../../kube/pods/static-pods.ts';

/** The phases that an agent sets; the API also has `Unknown`. */
export type PodPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed';

/**
 * Succeeded or Failed. kubelet: `IsPodPhaseTerminal`.
 */
export function isPodPhaseTerminal(phase: string | null | undefined): phase is 'Succeeded' | 'Failed' {
  return phase === 'Succeeded' || phase === 'Failed';
}

/** Containers of the spec by state. */
interface Tally {
  initFailed: number;
  initPending: number;
  sidecarPending: number;
  running: number;
  /** Not started, or unknown. */
  waiting: number;
  stopped: number;
  /** The stopped containers that will not be restarted. */
  final: number;
  /** The stopped containers that exited with 0 and are not about to restart. */
  succeeded: number;
}

/**
 * The phase of a pod, computed from its containers. `statuses` has the init and the regular ones;
 * `podIsTerminal` says that none of them will run again, `podHasInitialized` that a regular container
 * has run in the pod's current sandbox. Ignores the pod's own status.
 * Source: kubelet `getPhase`.
 */
export function getPhase(
  pod: Pod,
  statuses: readonly ContainerStatusInput[] | null | undefined,
  podIsTerminal: boolean,
  podHasInitialized: boolean,
): PodPhase {
  requireObject('pod', pod);
  const spec = pod.spec ?? {};
  const statusByName = firstBy(statuses, 'name');
  const statusOf = ({ name }: Container): ContainerStatusInput | undefined => statusByName.get(name);

  const tally: Tally = {
    initFailed: 0,
    initPending: 0,
    sidecarPending: 0,
    running: 0,
    waiting: 0,
    stopped: 0,
    final: 0,
    succeeded: 0,
  };
  for (const container of spec.initContainers ?? []) {
    if (isRestartableInitContainer(container)) countSidecar(tally, statusOf(container));
    else countInitContainer(tally, container, spec, statusOf(container));
  }
  for (const container of spec.containers ?? []) countContainer(tally, container, spec, statusOf(container));
  return decide(tally, podIsTerminal && !isStaticPod(pod), podHasInitialized);
}

function decide(tally: Tally, isTerminal: boolean, podHasInitialized: boolean): PodPhase {
  if (tally.initFailed > 0) return 'Failed';
  if (tally.initPending > 0 || (tally.sidecarPending > 0 && !podHasInitialized)) return 'Pending';
  if (tally.waiting > 0) return 'Pending';
  if (tally.running > 0) return 'Running';
  if (tally.stopped === 0) return 'Pending';
  if (!isTerminal && tally.final < tally.stopped) return 'Running';
  return tally.succeeded === tally.stopped ? 'Succeeded' : 'Failed';
}

function countInitContainer(
  tally: Tally,
  container: Container,
  spec: PodSpec,
  status: ContainerStatusInput | undefined,
): void {
  const stop = findStop(status);
  if (stop === undefined) tally.initPending++;
  else if ((stop.exitCode ?? 0) !== 0 && !willRestart(container, spec, stop)) tally.initFailed++;
}

/** A sidecar that has stopped does not count: it will restart, or its work is done. */
function countSidecar(tally: Tally, status: ContainerStatusInput | undefined): void {
  if (status?.state?.running != null) {
    tally.running++;
    if (status.started !== true) tally.sidecarPending++;
  } else if (findStop(status) === undefined) {
    tally.waiting++;
  }
}

function countContainer(
  tally: Tally,
  container: Container,
  spec: PodSpec,
  status: ContainerStatusInput | undefined,
): void {
  const state = status?.state;
  const stop = findStop(status);
  if (state?.running != null) {
    tally.running++;
  } else if (stop !== undefined) {
    tally.stopped++;
    if (!willRestart(container, spec, stop)) tally.final++;
    if (state?.terminated != null && (stop.exitCode ?? 0) === 0) tally.succeeded++;
  } else {
    tally.waiting++;
  }
}

/** The last termination of a container that is not running, including one waiting to restart. */
function findStop(status: ContainerStatusInput | undefined): Input<ContainerStateTerminated> | undefined {
  const state = status?.state;
  if (state?.terminated != null) return state.terminated;
  return state?.waiting == null ? undefined : (status?.lastState?.terminated ?? undefined);
}

/** True when the container runs, or has run. */
export function hasRun({ state, lastState }: ContainerStatusInput): boolean {
  return state?.running != null || state?.terminated != null || lastState?.terminated != null;
}

function willRestart(container: Container, spec: PodSpec, stop: Input<ContainerStateTerminated>): boolean {
  return stop.reason === 'RestartingAllContainers' || containerShouldRestart(container, spec, stop.exitCode ?? 0);
}
