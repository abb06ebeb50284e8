import type { Json } from '../../support/kube-http.ts';
import type { HistoryEvent } from '../history.ts';
import type { Violation } from '../invariants.ts';
import type { ContainerRun, RunLedger } from './run-ledger.ts';
import { endingRuns } from './scripted-pod.ts';

const killedExitCodes: readonly number[] = [137, 143];
const lostExitCode = 137;

/** What the run knows of its containers. */
export interface Containers {
  readonly ledger: RunLedger;
  /** The IDs of the containers whose shims were killed. */
  readonly lost: ReadonlySet<string>;
  /** How often an agent was about to create a container, by `containerKey`. */
  readonly creations: ReadonlyMap<string, number>;
}

export function containerKey(uid: string, container: string): string {
  return `${uid} ${container}`;
}

/** The UID that the agent knows a pod by: of a mirror pod, that of the static pod. */
export function podUID({ metadata }: Json): string {
  return isMirror({ metadata }) ? metadata.annotations['kubernetes.io/config.hash'] : metadata.uid;
}

/** No container runs twice: each run is the only one of its time, and follows from the end of the run before. */
export function checkRuns(history: readonly HistoryEvent[], { ledger, lost }: Containers): Violation[] {
  const violations: Violation[] = [];
  const pods = new Map(history.map(({ pod }) => [podUID(pod), pod] as const));
  for (const [uid, containers] of ledger.read()) {
    const pod = pods.get(uid);
    for (const [name, runs] of containers) {
      const addViolation = (details: string): void => {
        const where = `${pod?.metadata.name ?? 'a static pod'} ${uid} ${name}`;
        violations.push({ invariant: 'no container runs twice', details: `${where}: ${details}` });
      };
      const ids = runs.map(({ id }) => id);
      if (new Set(ids).size < ids.length) addViolation(`a container was started twice: ${ids.join(', ')}`);
      for (const { id, overlaps } of runs) {
        if (overlaps.length > 0) addViolation(`${id} was started while ${overlaps.join(', ')} was running`);
      }
      // An agent may have run a version of a static pod without ever having created its mirror pod.
      if (pod === undefined) continue;
      const restartable = containerOf(pod, name)!;
      for (const [i, run] of runs.slice(0, -1).entries()) {
        const exitCode = run.end?.exitCode ?? lostExitCode;
        if (!mayRestart(restartable, exitCode))
          addViolation(`${runs[i + 1]!.id} was started after the exit of ${run.id} with ${exitCode}`);
        if (run.end === undefined && !lost.has(run.id)) addViolation(`${run.id} was killed, and started again`);
      }
    }
  }
  return violations;
}

/** Every exit code that the API server has ever shown is the true one, and no restart is taken back. */
export function checkShownStatuses(history: readonly HistoryEvent[], { ledger, lost }: Containers): Violation[] {
  const violations: Violation[] = [];
  const runs = new Map(ledger.all().map((run) => [run.id, run] as const));
  const restartCounts = new Map<string, number>();
  const found = new Set<string>();
  for (const { pod, resourceVersion } of history) {
    for (const status of containerStatuses(pod)) {
      const addViolation = (invariant: string, details: string): void => {
        const where = `${pod.metadata.name} ${podUID(pod)} ${status.name} @${resourceVersion}`;
        violations.push({ invariant, details: `${where}: ${details}` });
      };
      for (const terminated of [status.state?.terminated, status.lastState?.terminated]) {
        if (terminated == null) continue;
        const run = runs.get(idOf(terminated));
        const allowed = trueExitCodes(pod, status.name, run, lost);
        if (allowed.includes(terminated.exitCode)) continue;
        const { containerID, exitCode, reason } = terminated;
        // Later versions of the pod show it, too.
        const finding = `${pod.metadata.uid} ${status.name} ${containerID} ${exitCode}`;
        if (found.has(finding)) continue;
        found.add(finding);
        const expected = allowed.length === 0 ? 'nothing has ended it' : `true is ${allowed.join(' or ')}`;
        addViolation('true exit codes', `${exitCode} (${reason}) of ${String(containerID)}, but ${expected}`);
      }
      // The mirror pod of the last version of a static pod shows the next one until it is replaced.
      if (isMirror(pod)) continue;
      const key = `${pod.metadata.uid} ${status.name}`;
      const last = restartCounts.get(key) ?? 0;
      if (status.restartCount < last) addViolation('restart counts only grow', `${last} → ${status.restartCount}`);
      restartCounts.set(key, status.restartCount);
    }
  }
  return violations;
}

/** How a pod that nobody deletes differs from what its containers have recorded; undefined if it does not. */
export function differenceToRuns(
  pod: Json,
  containers: Containers,
  liveGroups: ReadonlySet<number>,
): string | undefined {
  const uid = podUID(pod);
  const runsOf = containers.ledger.read().get(uid) ?? new Map<string, ContainerRun[]>();
  const { initContainers = [], containers: regular } = pod.spec as { initContainers?: Json[]; containers: Json[] };
  const exitCodes: (number | undefined)[] = [];
  for (const container of [...initContainers, ...regular]) {
    const isInit = initContainers.includes(container) && container.restartPolicy !== 'Always';
    const runs = runsOf.get(container.name) ?? [];
    const last = runs.at(-1);
    const status = containerStatuses(pod).find(({ name }) => name === container.name);
    if (status === undefined) return `${container.name} has no status`;
    if (last === undefined) return `${container.name} has not run: ${JSON.stringify(status.state)}`;
    const isRunning = liveGroups.has(last.pid) && last.end === undefined;
    const problem = isRunning
      ? differenceToRunning(container, runs, status)
      : differenceToEnded(pod, container, last, status, containers.lost);
    if (problem !== undefined) return `${container.name}: ${problem}`;
    const created = containers.creations.get(containerKey(uid, container.name)) ?? 0;
    // A container that was created, but not started before the agent was killed, counts as a restart, as in the kubelet.
    if (status.restartCount < runs.length - 1 || status.restartCount > Math.max(created, runs.length) - 1)
      return `${container.name}: ${status.restartCount} restarts, but ${runs.length} runs of ${created} containers`;
    const exitCode = isRunning ? undefined : (last.end?.exitCode ?? lostExitCode);
    if (isInit && exitCode !== 0) return expectPhase(pod, 'Failed');
    if (regular.includes(container)) exitCodes.push(exitCode);
  }
  if (exitCodes.includes(undefined)) return expectPhase(pod, 'Running');
  return expectPhase(pod, exitCodes.every((exitCode) => exitCode === 0) ? 'Succeeded' : 'Failed');
}

function differenceToRunning(
  container: Json,
  runs: readonly ContainerRun[],
  { state, containerID }: Json,
): string | undefined {
  const ending = endingRuns(container);
  if (ending === undefined || runs.length <= ending) return 'has not ended yet';
  const { id } = runs.at(-1)!;
  return state.running != null && idOf({ containerID }) === id
    ? undefined
    : `${id} runs, but the state of ${containerID} is ${JSON.stringify(state)}`;
}

function differenceToEnded(
  pod: Json,
  container: Json,
  { id, end }: ContainerRun,
  { state }: Json,
  lost: ReadonlySet<string>,
): string | undefined {
  const exitCode = end?.exitCode ?? lostExitCode;
  const isSidecar = container.restartPolicy === 'Always';
  if (isSidecar && !isTerminal(pod)) return `the sidecar has ended with ${exitCode}`;
  if (!isSidecar && mayRestart(containerOf(pod, container.name)!, exitCode))
    return `is to be restarted after ${exitCode}`;
  const { terminated } = state;
  if (terminated == null || idOf(terminated) !== id)
    return `${id} has ended with ${exitCode}, but the state is ${JSON.stringify(state)}`;
  if (end === undefined && lost.has(id) && terminated.reason !== 'ContainerStatusUnknown')
    return `${id} was lost, but the reason is ${terminated.reason}`;
  return undefined;
}

function expectPhase({ status }: Json, phase: string): string | undefined {
  return status.phase === phase ? undefined : `the phase is ${status.phase}, expected ${phase}`;
}

/** Empty when the container has no reason to have ended. */
function trueExitCodes(
  pod: Json,
  name: string,
  run: ContainerRun | undefined,
  lost: ReadonlySet<string>,
): readonly number[] {
  const mayBeStopped =
    pod.metadata.deletionTimestamp != null || isMirror(pod) || containerOf(pod, name)?.policy === 'sidecar';
  // It was killed before it could write to the ledger.
  if (run === undefined) return mayBeStopped ? killedExitCodes : [];
  const { id, end } = run;
  const killed = mayBeStopped ? killedExitCodes : lost.has(id) ? [lostExitCode] : [];
  if (end === undefined || (end.kind === 'stop' && !mayBeStopped)) return killed;
  return [end.exitCode, ...killed];
}

interface Restartable {
  readonly policy: 'Always' | 'OnFailure' | 'Never' | 'sidecar';
}

function containerOf({ spec }: Json, name: string): Restartable | undefined {
  const initContainer = (spec.initContainers as Json[] | undefined)?.find((container) => container.name === name);
  if (initContainer?.restartPolicy === 'Always') return { policy: 'sidecar' };
  // An init container that has completed is not run again.
  if (initContainer !== undefined) return { policy: spec.restartPolicy === 'Never' ? 'Never' : 'OnFailure' };
  const isThere = (spec.containers as Json[]).some((container) => container.name === name);
  return isThere ? { policy: spec.restartPolicy ?? 'Always' } : undefined;
}

function mayRestart({ policy }: Restartable, exitCode: number): boolean {
  return policy === 'Never' ? false : policy === 'OnFailure' ? exitCode !== 0 : true;
}

function containerStatuses({ status }: Json): Json[] {
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
}

function isTerminal({ status }: Json): boolean {
  return status.phase === 'Succeeded' || status.phase === 'Failed';
}

function isMirror({ metadata }: Json): boolean {
  return metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined;
}

function idOf({ containerID }: Json): string {
  return String(containerID ?? '').replace('process://', '');
}
