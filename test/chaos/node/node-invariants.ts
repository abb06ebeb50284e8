import type { Json } from '../../support/kube-http.ts';
import type { HistoryEvent } from '../history.ts';
import type { Violation } from '../invariants.ts';
import type { RuntimeSnapshot, SeenContainer } from './runtime-snapshot.ts';
import { hasArrived, isTerminal, kindOf } from './workload.ts';

/**
 * What containerd shows if it does not know how a container ended, which no command of the pods ends with. It deletes the
 * task of a container that has ended before it stores the exit code: when it is killed in between, the code is lost.
 */
const lostExitCode = 255;

/** How the status of a pod differs from containerd, or from the state that the pod shall reach; undefined if it does not. */
export function differenceToRuntime(
  pod: Json,
  { sandboxes, containers }: RuntimeSnapshot,
  mayBeEvicted: boolean,
): string | undefined {
  const { metadata, spec, status } = pod;
  if (metadata.deletionTimestamp != null) return 'is still there';
  const own = containers.filter(({ podUID }) => podUID === metadata.uid);
  const ready = sandboxes.filter(({ podUID, ready }) => podUID === metadata.uid && ready);
  for (const container of [...(spec.initContainers ?? []), ...spec.containers]) {
    const shown = containerStatuses(pod).find(({ name }) => name === container.name);
    const runs = own.filter(({ name }) => name === container.name);
    const problem = differenceOfContainer(shown, runs, spec.containers.includes(container));
    if (problem !== undefined) return `${container.name}: ${problem}`;
  }
  const running = own.filter(({ state }) => state === 'running');
  if (running.length > 0 && ready.length !== 1) return `has ${ready.length} sandboxes`;
  if (isTerminal(pod)) {
    if (running.length > 0) return `is ${status.phase}, but ${running[0]!.name} runs`;
    if (ready.length > 0) return `is ${status.phase}, but has a sandbox`;
  }
  const mayHaveEnded =
    mayBeEvicted || (spec.restartPolicy === 'Never' && own.some(({ exitCode }) => exitCode === lostExitCode));
  return hasArrived(pod, mayHaveEnded) ? undefined : `is ${status.phase}, which is not the state of ${kindOf(pod)}`;
}

function differenceOfContainer(shown: Json, runs: readonly SeenContainer[], isRegular: boolean): string | undefined {
  const running = runs.filter(({ state }) => state === 'running');
  const newest = runs.toSorted((a, b) => b.createdAt - a.createdAt)[0];
  if (running.length > 1) return 'runs twice';
  const { state = {}, restartCount, ready } = shown ?? {};
  if (isRegular && ready === true && running.length === 0) return 'is ready, but does not run';
  if (state.running != null || running.length > 0) {
    if (state.running == null) return `runs, but is shown as ${JSON.stringify(state)}`;
    if (running[0] === undefined) return 'is shown as running, but does not run';
    if (idOf(shown) !== running[0].id) return `${idOf(shown)} is shown as running, but ${running[0].id} runs`;
    if (restartCount !== running[0].attempt) return `${restartCount} restarts are shown of ${running[0].attempt}`;
  }
  if (state.terminated != null && newest?.state === 'exited' && newest.exitCode !== undefined) {
    if (idOf(state.terminated) !== newest.id) return `${newest.id} has ended, but ${idOf(state.terminated)} is shown`;
    if (state.terminated.exitCode !== newest.exitCode)
      return `ended with ${newest.exitCode}, but ${state.terminated.exitCode} is shown`;
  }
  return undefined;
}

/** Restart counts of a pod only grow, and a container that is ready runs. */
export function checkHistory(history: readonly HistoryEvent[]): Violation[] {
  const violations: Violation[] = [];
  const counts = new Map<string, number>();
  for (const { pod, resourceVersion } of history) {
    for (const status of containerStatuses(pod)) {
      const key = `${pod.metadata.uid} ${status.name}`;
      const addViolation = (invariant: string, details: string): void => {
        const where = `${pod.metadata.name} (${kindOf(pod)}) ${key} @${resourceVersion}`;
        violations.push({ invariant, details: `${where}: ${details}` });
      };
      const last = counts.get(key) ?? 0;
      if (status.restartCount < last) addViolation('restart counts only grow', `${last} → ${status.restartCount}`);
      counts.set(key, status.restartCount);
      const isComplete = status.state?.terminated?.exitCode === 0;
      if (status.ready === true && status.state?.running == null && !isComplete)
        addViolation('ready containers run', JSON.stringify(status.state));
    }
  }
  return violations;
}

/** Watches containerd: no container runs twice, and no number of a run is used twice. */
export class RunLog {
  readonly #idOfRun = new Map<string, string>();
  readonly #violations = new Map<string, Violation>();

  get violations(): readonly Violation[] {
    return [...this.#violations.values()];
  }

  /** The number of runs that were seen. */
  get runs(): number {
    return this.#idOfRun.size;
  }

  add({ containers }: RuntimeSnapshot): void {
    const runningIDs = new Map<string, string>();
    for (const { id, podUID, name, attempt, state } of containers) {
      const container = `${podUID} ${name}`;
      const run = `${container} ${attempt}`;
      const before = this.#idOfRun.get(run);
      if (before !== undefined && before !== id) this.#add('a run has one container', `${run}: ${before} and ${id}`);
      else this.#idOfRun.set(run, id);
      if (state !== 'running') continue;
      const other = runningIDs.get(container);
      if (other !== undefined) this.#add('no container runs twice', `${container}: ${other} and ${id}`);
      runningIDs.set(container, id);
    }
  }

  #add(invariant: string, details: string): void {
    this.#violations.set(details, { invariant, details });
  }
}

function containerStatuses({ status }: Json): Json[] {
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
}

function idOf({ containerID }: Json): string {
  return String(containerID ?? '').replace('containerd://', '');
}
