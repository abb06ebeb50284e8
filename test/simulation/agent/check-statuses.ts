import type { Violation } from '../../chaos/invariants.ts';
import type { Json } from '../../support/kube-http.ts';
import type { PodWrite } from '../lagging-pods.ts';
import type { ContainerRun, ContainerRuns } from './container-runs.ts';

const terminalPhases: ReadonlySet<unknown> = new Set(['Succeeded', 'Failed']);
const lostReason = 'ContainerStatusUnknown';
const rejectedMessage = 'Pod was rejected';

export function isTerminal({ status }: Json): boolean {
  return terminalPhases.has(status?.phase);
}

export function isMirror({ metadata }: Json): boolean {
  return metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined;
}

/** Whether a resize that the node has accepted is neither done nor refused by the runtime. */
export function isResizing(pod: Json): boolean {
  const conditions: Json[] = pod.status?.conditions ?? [];
  return (
    !isTerminal(pod) && conditions.some(({ type, reason }) => type === 'PodResizeInProgress' && reason !== 'Error')
  );
}

export function containerStatuses({ status }: Json): Json[] {
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
}

/** The UID that the agent knows a pod by: of a mirror pod, that of the static pod. */
function agentUID({ metadata }: Json): string {
  return metadata.annotations?.['kubernetes.io/config.hash'] ?? metadata.uid;
}

/** Every status that the API server has had is true, and none is older than one before it. */
export function checkStatuses(history: readonly PodWrite[], runs: ContainerRuns): Violation[] {
  const violations: Violation[] = [];
  const found = new Set<string>();
  const shown = new Map<string, ShownContainer>();
  const phases = new Map<string, string>();
  const isRejected = ({ pod: { status } }: PodWrite): boolean => status?.message?.startsWith(rejectedMessage) === true;
  const rejected = new Set(history.filter(isRejected).map(({ pod }) => pod.metadata.uid as string));
  for (const { pod, resourceVersion, atMs } of history) {
    const { name, uid } = pod.metadata;
    const add = (invariant: string, details: string, key = details): void => {
      // Later versions of the pod show it, too.
      if (found.has(`${uid} ${key}`)) return;
      found.add(`${uid} ${key}`);
      violations.push({ invariant, details: `${name} ${uid} @${resourceVersion} at ${atMs}: ${details}` });
    };
    const phase: string = pod.status?.phase ?? 'Pending';
    const before = phases.get(uid);
    // The init containers run again in a new sandbox. And as with the kubelet, a container whose last two runs were only
    // created is shown as one that has never run, and so is one whose state the runtime does not know.
    const seemsNew = ({ state, lastState, containerID }: Json): boolean =>
      lastState?.waiting != null || (state?.waiting != null && runs.unknown.has(containerID));
    const mayBePending =
      isMirror(pod) || (pod.spec.initContainers ?? []).length > 0 || containerStatuses(pod).some(seemsNew);
    if (before === 'Running' && phase === 'Pending' && !mayBePending)
      add('no status is older than one before it', 'Running → Pending');
    phases.set(uid, phase);
    checkPhase(pod, add);
    // As with the kubelet, the status of a pod that is rejected has no containers. What is left of them counts anew. While they
    // may run, the status has no message either.
    if ((rejected.has(uid) || !hasConditions(pod)) && containerStatuses(pod).length === 0)
      for (const { name: container } of [...pod.spec.containers, ...(pod.spec.initContainers ?? [])])
        shown.delete(`${uid} ${container}`);
    for (const status of containerStatuses(pod)) {
      // The mirror pod of the last version of a static pod shows the next one until it is replaced.
      if (!isMirror(pod)) {
        const key = `${uid} ${status.name}`;
        const last = shown.get(key);
        const now = shownContainer(status);
        const problem = last && !runs.unknown.has(now.id ?? '') ? takenBack(last, now) : undefined;
        if (problem !== undefined) add('no status is older than one before it', `${status.name}: ${problem}`);
        shown.set(key, now);
      }
      for (const terminated of [status.state?.terminated, status.lastState?.terminated]) {
        if (terminated?.containerID === undefined || terminated.reason === lostReason) continue;
        const run = runs.withID(terminated.containerID);
        const problem = differenceToRun(terminated, run, atMs);
        if (problem !== undefined) add('true exit codes', `${status.name}: ${problem}`, terminated.containerID);
      }
      const { running } = status.state ?? {};
      if (running != null && runs.withID(status.containerID) === undefined)
        add('a container that is shown as running was started', `${status.name}: ${status.containerID}`);
    }
  }
  return violations;
}

/** Whether the status has the conditions of the node. */
function hasConditions({ status }: Json): boolean {
  return (status?.conditions ?? []).some(({ type }: Json) => type === 'Ready');
}

/** How the status of a pod differs from what its containers have done; undefined if it does not. */
export function differenceToRuns(pod: Json, runs: ContainerRuns): string | undefined {
  const podUID = agentUID(pod);
  for (const status of containerStatuses(pod)) {
    const last = runs.of({ podUID, container: status.name }).at(-1);
    const { running, terminated } = status.state ?? {};
    const shown = `${status.name}: ${JSON.stringify(status.state)} is shown`;
    if (last === undefined) {
      if (running != null || (terminated != null && terminated.reason !== lostReason)) return `${shown}, has not run`;
    } else if (last.endedMs === undefined) {
      if (running == null || status.containerID !== last.id) return `${shown}, ${last.id} runs`;
    } else if (running != null) return `${shown}, ${last.id} has ended with ${last.exitCode}`;
  }
  return undefined;
}

interface ShownContainer {
  readonly restartCount: number;
  readonly id: string | undefined;
  readonly isTerminated: boolean;
}

function shownContainer({ restartCount, containerID, state, lastState }: Json): ShownContainer {
  // A container that waits for its next run shows the last one as its last state.
  // As the kubelet, one whose state the runtime does not know is shown as ended once, and then as waiting.
  const hasEnded = state?.terminated != null && state.terminated.reason !== lostReason;
  const isTerminated = hasEnded || lastState?.terminated?.containerID === containerID;
  return { restartCount: restartCount ?? 0, id: containerID, isTerminated };
}

function takenBack(last: ShownContainer, now: ShownContainer): string | undefined {
  if (now.restartCount < last.restartCount) return `${last.restartCount} → ${now.restartCount} restarts`;
  if (last.isTerminated && !now.isTerminated && now.id === last.id && now.restartCount === last.restartCount && now.id)
    return `${now.id} had ended, and does not any more`;
  return undefined;
}

function differenceToRun(
  { containerID, exitCode, reason }: Json,
  run: ContainerRun | undefined,
  atMs: number,
): string | undefined {
  const shown = `${exitCode} (${reason}) is shown for ${containerID}`;
  if (run === undefined) return `${shown}, which was never started`;
  if (run.endedMs === undefined || run.endedMs > atMs) return `${shown}, which runs`;
  return run.exitCode === exitCode ? undefined : `${shown}, true is ${run.exitCode}`;
}

/** Phase and conditions follow from the statuses of the containers. */
function checkPhase(pod: Json, add: (invariant: string, details: string) => void): void {
  const invariant = 'phase and conditions follow from the containers';
  const { phase, reason, containerStatuses: containers = [], conditions = [] } = pod.status ?? {};
  const describe = (): string => JSON.stringify(containers.map(({ name, state }: Json) => [name, state]));
  const isRunning = ({ state }: Json): boolean => state?.running != null;
  const exitCodes: unknown[] = containers.map(({ state }: Json) => state?.terminated?.exitCode);
  // As with the kubelet, a mirror pod gets its terminal phase at once.
  if (terminalPhases.has(phase) && containers.some(isRunning) && !isMirror(pod))
    add(invariant, `${phase}, but ${describe()}`);
  if (phase === 'Succeeded' && exitCodes.some((exitCode) => exitCode !== 0))
    add(invariant, `Succeeded, but ${describe()}`);
  if (phase === 'Failed' && reason === undefined && containers.length > 0) {
    const all: unknown[] = containerStatuses(pod).map(({ state }: Json) => state?.terminated?.exitCode);
    if (all.every((exitCode) => exitCode === 0)) add(invariant, `Failed, but ${describe()}`);
  }
  // Others write the condition Ready, too.
  const ready = conditions.find(({ type }: Json) => type === 'ContainersReady');
  if (ready?.status === 'True' && containers.some(({ ready: isReady }: Json) => isReady !== true))
    add(
      invariant,
      `ContainersReady, but ${JSON.stringify(containers.map(({ name, ready: isReady }: Json) => [name, isReady]))}`,
    );
}
