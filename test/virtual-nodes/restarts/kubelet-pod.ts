import type { Clock, PodStatusInput, ValidPod } from 'kubelet-status-manager';
import { CrashLoopBackOff } from '../../../src/agent/back-off/crash-loop-back-off.ts';
import { timeFromEpochMs } from '../../../src/shared/time.ts';
import type { PodStatusRow, RowContainer, RowSandbox } from '../../parity/pod-status-row.ts';
import { resultsOf, runtimeStatusOf } from '../../parity/replay-pod-status.ts';
import type { Course } from './course.ts';

/** As many runs of a container as the kubelet keeps: the last one, and the one before. */
const keptRuns = 2;
const crashLoopReason = 'CrashLoopBackOff';

/**
 * A pod on a kubelet: what it shows and does next are those of `generatePodStatus` and `computePodActions`, which are the
 * kubelet's for each of `rows` (`kubelet-oracle pod-status-replay`). Its runtime starts containers immediately, and they end
 * as the course says.
 */
export class KubeletPod {
  readonly rows: PodStatusRow[] = [];
  readonly #pod: ValidPod;
  readonly #course: Course;
  readonly #clock: Clock;
  readonly #backOff: CrashLoopBackOff;
  readonly #failures = new Map<string, { readonly reason: string; readonly message: string }>();
  #containers: RowContainer[] = [];
  #sandboxes: RowSandbox[] = [];
  #status: PodStatusInput | undefined;

  constructor(pod: ValidPod, course: Course, clock: Clock) {
    this.#pod = pod;
    this.#course = course;
    this.#clock = clock;
    this.#backOff = new CrashLoopBackOff(clock);
  }

  /** One sync of the pod, as of a pod worker. Returns the status that it has set. */
  sync(): PodStatusInput {
    const isTerminal = this.#status?.phase === 'Succeeded' || this.#status?.phase === 'Failed';
    const row = this.#row(isTerminal);
    const results = resultsOf(row, 0);
    this.rows.push({ ...row, ...results });
    this.#status = results.status;
    if (isTerminal || results.status.phase === 'Succeeded' || results.status.phase === 'Failed') {
      this.#sandboxes = this.#sandboxes.map((sandbox) => ({ ...sandbox, ready: false }));
      return results.status;
    }
    const { createSandbox, attempt, initContainersToStart, containersToStart } = results.actions;
    if (createSandbox) {
      const sandbox = { id: `sandbox-${attempt}`, attempt, ready: true, hostNetwork: false, ip: '10.0.0.1' };
      this.#sandboxes.unshift(sandbox);
      this.#containers = this.#containers.map((container) => ({ ...container, inNewestSandbox: false }));
    }
    for (const name of initContainersToStart) if (!this.#start(name)) return results.status;
    for (const name of containersToStart) this.#start(name);
    return results.status;
  }

  #row(podIsTerminal: boolean): Omit<PodStatusRow, 'actions' | 'restartAllContainers' | 'status'> {
    return {
      name: `${this.#pod.metadata.name} step ${this.rows.length}`,
      pod: this.#pod,
      ...(this.#status !== undefined && { previous: this.#status }),
      runtimeContainers: this.#containers,
      sandboxes: this.#sandboxes,
      podIPs: this.#sandboxes[0]?.ready === true ? ['10.0.0.1'] : [],
      nodeIPs: ['10.1.2.3'],
      startFailures: Object.fromEntries(this.#failures),
      probeResults: {},
      podIsTerminal,
    };
  }

  #start(name: string): boolean {
    const { initContainers = [], containers = [] } = this.#pod.spec!;
    const container = [...initContainers, ...containers].find((one) => one.name === name)!;
    const runtimeStatus = runtimeStatusOf(this.#row(false));
    const wait = this.#backOff.doBackOff(this.#pod, container, runtimeStatus);
    if (wait !== undefined) {
      this.#failures.set(name, { reason: crashLoopReason, message: wait.message });
      return false;
    }
    this.#failures.delete(name);
    const earlier = this.#containers.filter((one) => one.name === name);
    const restartCount = earlier.length === 0 ? 0 : earlier[0]!.restartCount + 1;
    const now = timeFromEpochMs(this.#clock.now());
    const containerID = `run://${name}-${restartCount}`;
    const kept = this.#containers.filter((one) => one.name !== name || earlier.indexOf(one) < keptRuns - 1);
    const run = { name, containerID, restartCount, image: container.image ?? '', imageID: '' };
    const times = { createdAt: now, startedAt: now, finishedAt: null };
    const running = { state: 'running', inNewestSandbox: true, exitCode: 0, reason: '', message: '' } as const;
    this.#containers = [{ ...run, ...times, ...running }, ...kept];
    const end = this.#course.end(name, restartCount);
    if (end !== undefined) this.#clock.afterFunc(end.afterMs, () => this.#end(containerID, end.exitCode));
    return true;
  }

  #end(id: string, exitCode: number): void {
    const finishedAt = timeFromEpochMs(this.#clock.now());
    const end = { state: 'exited', exitCode, finishedAt, reason: exitCode === 0 ? 'Completed' : 'Error' } as const;
    this.#containers = this.#containers.map((one) =>
      one.containerID === id && one.state === 'running' ? { ...one, ...end } : one,
    );
  }
}
