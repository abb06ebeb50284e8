import type { ContainerStatus, Pod, PodStatus } from 'kubelet-status-manager';

/** What the API server has sent about pods, by name, as lines that a test can compare; repeated lines are one. */
export class PodHistory {
  readonly #pods = new Map<string, Pod>();
  readonly #lines = new Map<string, string[]>();
  /** What must never be: a phase that was terminal and changed, a restart count that went down. */
  readonly problems: string[] = [];

  seen(pod: Pod): void {
    const before = this.#pods.get(nameOf(pod));
    if (before !== undefined && before.metadata?.uid === pod.metadata?.uid)
      this.problems.push(...backwardSteps(before, pod));
    this.#pods.set(nameOf(pod), pod);
    this.#add(nameOf(pod), formatPod(pod));
  }

  removed(pod: Pod): void {
    this.#pods.delete(nameOf(pod));
    this.#add(nameOf(pod), 'gone');
  }

  /** A new list: what is not in it is gone. */
  replace(pods: readonly Pod[]): void {
    const uids = new Set(pods.map(({ metadata }) => metadata?.uid));
    for (const pod of this.#pods.values()) if (!uids.has(pod.metadata?.uid)) this.removed(pod);
    for (const pod of pods) this.seen(pod);
  }

  /** The newest object. */
  pod(name: string): Pod | undefined {
    return this.#pods.get(name);
  }

  of(name: string): readonly string[] {
    return this.#lines.get(name) ?? [];
  }

  #add(name: string, line: string): void {
    const lines = this.#lines.get(name) ?? [];
    if (lines.at(-1) !== line) this.#lines.set(name, [...lines, line]);
  }
}

/** Conditions that are shown as long as they are there, with their reason. */
const shownConditions = new Set(['PodResizePending', 'PodResizeInProgress', 'DisruptionTarget']);

/**
 * `Running Ready: app#1 running after exit 3`: phase, reason in parentheses, condition Ready, whether it is
 * terminating; then each container that has a status, with its restart count unless that is 0.
 */
function formatPod({ metadata, status }: Pod): string {
  const { phase, reason, conditions, initContainerStatuses, containerStatuses } = (status ?? {}) as PodStatus;
  const isReady = conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
  const words = [
    phase,
    reason && `(${reason})`,
    isReady && 'Ready',
    metadata?.deletionTimestamp != null && 'terminating',
    ...(conditions ?? [])
      .filter(({ type }) => shownConditions.has(type ?? ''))
      .map(({ type, reason }) => (reason ? `${type}=${reason}` : type)),
  ].filter(Boolean);
  const containers = [...(initContainerStatuses ?? []), ...(containerStatuses ?? [])].map(formatContainer);
  return `${words.join(' ')}${containers.length === 0 ? '' : `: ${containers.join(', ')}`}`;
}

function formatContainer({ name, restartCount, state, lastState, started, resources }: ContainerStatus): string {
  const isStarting = state?.running != null && started === false;
  const current = state?.waiting?.reason ?? (isStarting ? 'starting' : (exitOf(state) ?? 'running'));
  const last = exitOf(lastState);
  const cpu = resources?.requests?.['cpu'];
  return [
    `${name}${restartCount ? `#${restartCount}` : ''} ${current}`,
    last && `after ${last}`,
    cpu !== undefined && `cpu ${cpu}`,
  ]
    .filter(Boolean)
    .join(' ');
}

function exitOf(state: ContainerStatus['state']): string | undefined {
  return state?.terminated == null ? undefined : `exit ${state.terminated.exitCode}`;
}

function backwardSteps(before: Pod, after: Pod): string[] {
  const problems: string[] = [];
  const isTerminal = before.status?.phase === 'Failed' || before.status?.phase === 'Succeeded';
  if (isTerminal && after.status?.phase !== before.status?.phase) problems.push('the phase was terminal');
  for (const container of containersOf(before)) {
    const next = containersOf(after).find(({ name }) => name === container.name);
    if (next === undefined) problems.push(`${container.name} has no status any more`);
    else if (next.restartCount < container.restartCount) problems.push(`restartCount of ${next.name} went down`);
    else if (next.restartCount === container.restartCount && exitOf(container.state) !== undefined) {
      const exits = [exitOf(next.state), exitOf(next.lastState)];
      if (!exits.includes(exitOf(container.state))) problems.push(`the exit of ${next.name} was another one`);
    }
  }
  return problems.map((problem) => `${nameOf(after)}: ${problem}: ${formatPod(before)}, then ${formatPod(after)}`);
}

function containersOf({ status }: Pod): readonly ContainerStatus[] {
  const { initContainerStatuses, containerStatuses } = (status ?? {}) as PodStatus;
  return [...(initContainerStatuses ?? []), ...(containerStatuses ?? [])];
}

function nameOf({ metadata }: Pod): string {
  return metadata?.name ?? '';
}
