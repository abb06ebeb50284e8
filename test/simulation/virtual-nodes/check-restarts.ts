import type { ValidPod } from '../../../src/kube/objects/types.ts';
import type { VirtualNode } from '../../../src/virtual-nodes/index.ts';
import type { Violation } from '../../chaos/invariants.ts';
import type { PodWrite } from '../lagging-pods.ts';
import type { World } from '../world.ts';
import { isTerminal } from './check-replicas.ts';
import type { Run } from './cloud-pods.ts';

/** The kubelet's. */
const backOffMs = { first: 10_000, max: 300_000, expiresAfter: 600_000 };
/** Clocks of machines run faster or slower by less. */
const tolerance = 0.01;

/** The last start of a pod by one owner of its node. */
interface Start {
  readonly restartCount: number;
  readonly atMs: number;
  readonly containers: string;
  /** Before the next start. */
  readonly delayMs: number;
  /** The owner has seen how the run before has ended. */
  readonly hasSeenEnd: boolean;
}

/** A container that waits for its back-off, although it has been changed since its last start. */
interface Waiting {
  readonly sinceMs: number;
  readonly containers: string;
}

/** By when a worker has noticed that its pod was changed. */
const noticedMs = 2_000;

/** With `restarts: 'node'`, what is checked of each call of `createPod` when it is sent, and of all pods now and then. */
export class RestartChecks {
  readonly #world: World;
  readonly #runs: ReadonlyMap<string, readonly Run[]>;
  /** Whether the API server has the pod. */
  readonly #exists: (pod: ValidPod) => boolean;
  /** By the status manager of a node, which is a new one each time that the node gets another owner, and by UID. */
  readonly #starts = new WeakMap<object, Map<string, Start>>();
  /** In the same way. */
  readonly #waiting = new WeakMap<object, Map<string, Waiting>>();

  constructor(world: World, runs: ReadonlyMap<string, readonly Run[]>, exists: (pod: ValidPod) => boolean) {
    this.#world = world;
    this.#runs = runs;
    this.#exists = exists;
  }

  /** What the statuses of a node say of its last starts. */
  checkStatuses(node: VirtualNode): void {
    const { statusManager } = node;
    const { nowMs } = this.#world;
    const waiting = new Map<string, Waiting>();
    const before = this.#waiting.get(statusManager);
    this.#waiting.set(statusManager, waiting);
    for (const [uid, last] of this.#starts.get(statusManager) ?? []) {
      const pod = node.pod(uid);
      // Once a pod with another UID has its name, the status manager forgets its status.
      const isShown = pod !== undefined && this.#exists(pod);
      const { containerStatuses = [] } = statusManager.getPodStatus(uid) ?? {};
      for (const { name, restartCount, state, lastState } of containerStatuses)
        if (isShown && last.hasSeenEnd && state.running && restartCount === last.restartCount && !lastState.terminated)
          this.#world.violate('a container that runs again shows how its last run has ended', `${uid} ${name}`);
      const isWaiting = containerStatuses.some(({ state }) => state.waiting?.reason === 'CrashLoopBackOff');
      const containers = containersOf(pod);
      if (!isWaiting || pod === undefined || containers === last.containers) continue;
      const known = before?.get(uid);
      const { sinceMs } = known?.containers === containers ? known : { sinceMs: nowMs };
      waiting.set(uid, { sinceMs, containers });
      if (nowMs < sinceMs + noticedMs) continue;
      waiting.delete(uid);
      const details = `${uid}: ${last.containers}, ${containers} since ${sinceMs}`;
      this.#world.violate('changed containers have no back-off', details);
    }
  }

  /** `createPod` was called. If it is the same run once more, with changed containers, the back-off is theirs. */
  attempted({ statusManager }: VirtualNode, pod: ValidPod, restartCount: number): void {
    const starts = this.#starts.get(statusManager);
    const last = starts?.get(pod.metadata.uid);
    const containers = containersOf(pod);
    if (last === undefined || last.restartCount !== restartCount || last.containers === containers) return;
    starts!.set(pod.metadata.uid, { ...last, atMs: this.#world.nowMs, containers, delayMs: backOffMs.first });
  }

  /** A call of `createPod` is sent, when its materials have been read. */
  check(node: VirtualNode, pod: ValidPod, restartCount: number): void {
    const {
      metadata: { uid, name },
      spec,
    } = pod;
    const { nowMs: atMs } = this.#world;
    const violate = (invariant: string, details: unknown): void =>
      this.#world.violate(invariant, `${name} ${uid} ${restartCount}: ${JSON.stringify(details)}`);
    const { statusManager } = node;
    const starts = this.#starts.get(statusManager) ?? new Map<string, Start>();
    this.#starts.set(statusManager, starts);
    const last = starts.get(uid);
    const containers = containersOf(pod);
    if (restartCount === last?.restartCount) return;
    const runs = this.#runs.get(uid) ?? [];
    if (restartCount < (last?.restartCount ?? 0) || restartCount > runs.length)
      violate('restartCount is the number of the run', { last, runs });
    if (restartCount === 0) return;
    const { state } = node.inspect().podWorkers.find((worker) => worker.uid === uid) ?? {};
    const { phase } = statusManager.getPodStatus(uid) ?? {};
    if (state !== 'syncing' || isTerminal(phase))
      violate('no restart once the end of a pod has begun', { state, phase });
    const before = runs.filter((run) => run.restartCount < restartCount);
    const running = before.find(({ toMs }) => toMs > atMs);
    if (running !== undefined) violate('no restart while a container runs', { running });
    const ended = before.findLast(({ exitCodes }) => exitCodes !== undefined);
    const policy = spec?.restartPolicy ?? 'Always';
    const isDemanded = policy === 'Always' || (policy === 'OnFailure' && ended?.exitCodes?.some((code) => code !== 0));
    if (!isDemanded) violate('a pod is restarted as its restartPolicy demands', { policy, ended });
    const endedMs = ended?.toMs ?? 0;
    const isLive = last?.containers === containers && endedMs - last.atMs < backOffMs.expiresAfter * (1 - tolerance);
    const delayMs = isLive ? last.delayMs : 0;
    if (atMs < endedMs + delayMs * (1 - tolerance)) violate('no restart before its back-off', { atMs, endedMs, last });
    if (delayMs > 0) this.#world.count(`restarted after ${delayMs / 1000} s`);
    const nextMs = Math.min(backOffMs.max, Math.max(backOffMs.first, 2 * delayMs));
    // Otherwise, it is the same run once more, which the cloud has lost.
    const hasSeenEnd = ended?.restartCount === restartCount - 1 && runs.at(-1) === ended;
    starts.set(uid, { restartCount, atMs, containers, delayMs: nextMs, hasSeenEnd });
  }
}

function containersOf(pod: ValidPod | undefined): string {
  return JSON.stringify(pod?.spec?.containers?.map(({ image }) => image));
}

/** What the statuses of pods say of their restarts. */
export function checkRestartCounts(
  history: readonly PodWrite[],
  allRuns: ReadonlyMap<string, readonly Run[]>,
): Violation[] {
  const violations: Violation[] = [];
  const counts = new Map<string, number>();
  for (const { pod, atMs } of history) {
    const { metadata, spec, status = {} } = pod;
    const { uid, name, deletionTimestamp } = metadata;
    const violate = (invariant: string, details: string): void =>
      void violations.push({ invariant, details: `${name} ${uid} at ${atMs}: ${details}` });
    const runs = (allRuns.get(uid) ?? []).filter(({ fromMs }) => fromMs <= atMs).length;
    for (const container of status.containerStatuses ?? []) {
      const key = `${uid} ${container.name}`;
      const { restartCount } = container;
      // As in the kubelet, a container that is gone without a trace counts as a restart.
      const isGone = JSON.stringify(container).includes('ContainerStatusUnknown');
      if (restartCount < (counts.get(key) ?? 0) || restartCount > Math.max(0, isGone ? runs : runs - 1))
        violate('restartCount never goes down nor jumps', `${container.name}: ${restartCount}, with ${runs} runs`);
      counts.set(key, restartCount);
    }
    if (deletionTimestamp != null || spec.restartPolicy === 'Never') continue;
    if (spec.restartPolicy === 'Always' && status.phase === 'Succeeded')
      violate('a pod with Always never succeeds', JSON.stringify(status));
    if (status.phase === 'Failed' && !status.reason)
      violate('a pod that is restarted fails for a reason only', JSON.stringify(status));
  }
  return violations;
}
