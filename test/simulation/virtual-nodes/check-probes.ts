import type { ContainerStatus, Pod, PodStatus, ValidPod } from '../../../src/kube/objects/types.ts';
import type { VirtualNode } from '../../../src/virtual-nodes/index.ts';
import type { World } from '../world.ts';
import { isTerminal } from './check-replicas.ts';
import type { CloudCall } from './simulated-cloud.ts';
import type { ProbeCall, ProbeOutcome, ProbeType } from './simulated-probes.ts';

type Result = 'success' | 'failure';

/** What the probes of one type have shown of a container, as its owner must count it. */
interface ProbeCount {
  last: Result | undefined;
  /** How many times in a row. */
  count: number;
  /** Of the present run: the last result that has reached its threshold. */
  concluded: Result | undefined;
  /** When it was first so. */
  concludedMs: number;
  /** The last command that could not be run: it is run up to three times. */
  broken: { readonly atMs: number; readonly attempts: number; readonly id: string } | undefined;
}

/** A container of a pod, as one owner of its node sees it. */
interface ProbedContainer {
  /** Of the present run. */
  id: string;
  /** The runs that it has shown. */
  readonly seen: Set<string>;
  /** A list has shown an earlier run again: what the worker has noticed of this is not known. */
  isUncertain: boolean;
  readonly counts: Record<ProbeType, ProbeCount>;
  /** The runs whose startup or liveness probe has failed. */
  readonly failed: Set<string>;
  /** By run, the last call. */
  readonly kills: Map<string, CloudCall>;
}

/** By when a worker has noticed that the end of its pod has begun. */
const noticedMs = 3_000;
const maxAttempts = 3;
/** A container is killed again if it runs for so long after its grace period. */
const killedAgainMs = 60_000 * 0.99;

/** With `probes: 'node'`, what is checked of each probe when it is sent, of each status, and of each call of `killContainer`. */
export class ProbeChecks {
  readonly #world: World;
  /** By the status manager of a node, which is a new one each time that the node gets another owner, by UID and name. */
  readonly #owners = new WeakMap<object, Map<string, ProbedContainer>>();

  constructor(world: World) {
    this.#world = world;
  }

  /** @param node undefined if the process does not have it */
  sent(node: VirtualNode | undefined, call: ProbeCall): (outcome: ProbeOutcome) => void {
    const { process, pod, container: name, probeType } = call;
    const violate = (invariant: string, details: unknown): void => {
      const where = `${probeType} probe of ${pod.name} ${pod.uid} ${name} by ${process.name}`;
      this.#world.violate(invariant, `${where}: ${JSON.stringify(details)}`);
    };
    if (node?.isOwned !== true) {
      violate('only the owner of a node probes', node === undefined ? 'no node' : { epoch: node.epoch });
      return () => {};
    }
    const { statusManager } = node;
    const known = this.#containerOf(statusManager, pod.uid, name);
    const counts = known.counts[probeType];
    const { broken } = counts;
    const isRetry = broken?.atMs === this.#world.nowMs && broken.attempts < maxAttempts;
    const status = statusManager.getPodStatus(pod.uid);
    const shown = status?.containerStatuses?.find((container) => container.name === name);
    const id = isRetry ? broken.id : (shown?.containerID ?? '');
    const attempts = isRetry ? broken.attempts + 1 : 1;
    if (known.id === '') known.seen.add((known.id = id));
    if (!isRetry) this.#checkSent(node, call, known, { status, shown, violate });
    return (outcome) => {
      const { concluded } = counts;
      counts.broken = outcome === 'unknown' ? { atMs: this.#world.nowMs, attempts, id } : undefined;
      if (outcome === 'success' || outcome === 'failure') count(known, id, outcome, probeType, specOf(node, call));
      if (counts.concluded !== concluded) counts.concludedMs = this.#world.nowMs;
    };
  }

  #checkSent(
    node: VirtualNode,
    { process, pod: { uid }, probeType }: ProbeCall,
    { counts, isUncertain }: ProbedContainer,
    {
      status,
      shown,
      violate,
    }: {
      readonly status: PodStatus | undefined;
      readonly shown: ContainerStatus | undefined;
      readonly violate: (invariant: string, details: unknown) => void;
    },
  ): void {
    if (shown?.state.running === undefined || isTerminal(status?.phase))
      violate('no probe of a container that does not run', { phase: status?.phase, shown });
    const { state, since = '' } = node.inspect().podWorkers.find((worker) => worker.uid === uid) ?? {};
    const isEnding = state === 'terminating' && process.clock.now() - Date.parse(since) > noticedMs;
    if ((state !== 'syncing' && state !== 'terminating') || (isEnding && probeType !== 'readiness'))
      violate('no probe once the pod ends', { state, since });
    if ((shown?.started === true) !== (probeType !== 'startup'))
      violate('startup probes come first, and end with the start', { shown });
    if (isUncertain) return;
    const { concluded, concludedMs } = counts[probeType];
    if (probeType !== 'readiness' && (concluded === 'failure' || (probeType === 'startup' && concluded !== undefined)))
      violate('no probe after its last result', { concluded, shown });
    // By the next probe, unless that follows at once: the result waits behind what has arrived before, as during a pause of the
    // process. In the kubelet, too, the worker goes on before the sync loop has received a result.
    if (probeType !== 'readiness' || concluded === undefined || concludedMs === this.#world.nowMs) return;
    if (shown?.ready !== (concluded === 'success'))
      violate('the status shows what the probes have shown', { concluded, shown });
  }

  /** A status of an owner, and the one before, which may be that of the API server. */
  changed(statusManager: object, pod: Pod, status: PodStatus, before: PodStatus | undefined): void {
    const { uid = '', name: podName } = pod.metadata ?? {};
    for (const container of status.containerStatuses ?? []) {
      const { name, containerID, state, started, ready } = container;
      const spec = pod.spec?.containers?.find((one) => one.name === name);
      if (!containerID || (spec?.startupProbe == null && spec?.readinessProbe == null && spec?.livenessProbe == null))
        continue;
      const known = this.#containerOf(statusManager, uid, name);
      if (known.id !== containerID) {
        known.id = containerID;
        known.isUncertain = known.seen.has(containerID);
        known.seen.add(containerID);
        for (const counts of Object.values(known.counts)) counts.concluded = undefined;
      }
      // The worker may or may not have seen it.
      if (state.running === undefined) known.isUncertain = true;
      if (state.running === undefined || known.isUncertain) continue;
      const shownBefore = before?.containerStatuses?.find((one) => one.containerID === containerID);
      const violate = (concluded: Result | undefined): void =>
        this.#world.violate(
          'the status changes by the results of its own probes only',
          `${podName} ${uid}: ${JSON.stringify({ concluded, shownBefore, container })}`,
        );
      const { startup, readiness } = known.counts;
      if (spec.startupProbe != null) {
        if (started === true && startup.concluded !== 'success' && shownBefore?.started !== true)
          violate(startup.concluded);
        if (started !== true && startup.concluded === 'success') violate(startup.concluded);
      }
      if (spec.readinessProbe == null || started !== true) continue;
      const mayBeReady =
        readiness.concluded === 'success' || (readiness.concluded === undefined && shownBefore?.ready === true);
      if (ready ? !mayBeReady : readiness.concluded === 'success') violate(readiness.concluded);
    }
  }

  /** A container is to be killed. */
  killed(node: VirtualNode | undefined, name: string, restartCount: number, call: CloudCall): void {
    const { uid = '', process } = call;
    const violate = (invariant: string, details: unknown): void =>
      this.#world.violate(invariant, `${uid} ${name} ${restartCount} by ${process.name}: ${JSON.stringify(details)}`);
    if (node?.isOwned !== true) return violate('only the owner of a node kills containers', { epoch: node?.epoch });
    const known = this.#containerOf(node.statusManager, uid, name);
    const id = `provider://${uid}/${name}/${restartCount}`;
    const { state } = node.inspect().podWorkers.find((worker) => worker.uid === uid) ?? {};
    if (state !== 'syncing') violate('no container is killed once the pod ends', { state });
    if (!known.failed.has(id) && !known.isUncertain)
      violate('only a container whose probe has failed is killed', { counts: known.counts, id: known.id });
    const before = known.kills.get(id);
    known.kills.set(id, call);
    // An answer that comes after the time-out, as when the process was paused, counts for nothing.
    const isAccepted = before?.isSuccess === true && !before.signal.aborted;
    if (isAccepted && !known.isUncertain && call.sentMs < before.settledMs! + killedAgainMs)
      violate('a container is killed once', { at: call.sentMs, before: before.settledMs });
  }

  /** Whether an owner has still to kill a container that runs. */
  mustKill(node: VirtualNode, uid: string, { name, containerID = '' }: ContainerStatus): boolean {
    return this.#containerOf(node.statusManager, uid, name).failed.has(containerID);
  }

  #containerOf(statusManager: object, uid: string, name: string): ProbedContainer {
    const containers = this.#owners.get(statusManager) ?? new Map<string, ProbedContainer>();
    this.#owners.set(statusManager, containers);
    const key = `${uid} ${name}`;
    const none = (): ProbeCount => ({
      ...{ last: undefined, count: 0, concluded: undefined, concludedMs: 0, broken: undefined },
    });
    const known = containers.get(key) ?? {
      ...{ id: '', seen: new Set(), isUncertain: false, failed: new Set(), kills: new Map() },
      counts: { startup: none(), liveness: none(), readiness: none() },
    };
    containers.set(key, known);
    return known;
  }
}

interface Thresholds {
  readonly successThreshold?: number | undefined;
  readonly failureThreshold?: number | undefined;
}

function specOf(node: VirtualNode, { pod: { uid }, container, probeType }: ProbeCall): Thresholds {
  const pod: ValidPod | undefined = node.pod(uid);
  return pod?.spec?.containers?.find(({ name }) => name === container)?.[`${probeType}Probe`] ?? {};
}

/** Source: kubelet `worker.doProbe`: results in a row count on in the next run, unless the last one was final. */
function count(
  known: ProbedContainer,
  id: string,
  result: Result,
  probeType: ProbeType,
  { successThreshold = 1, failureThreshold = 3 }: Thresholds,
): void {
  const counts = known.counts[probeType];
  counts.count = counts.last === result ? counts.count + 1 : 1;
  counts.last = result;
  if (counts.count < (result === 'success' ? successThreshold : failureThreshold)) return;
  if (id === known.id) counts.concluded = result;
  if (probeType === 'readiness') return;
  if (result === 'failure') known.failed.add(id);
  if (result === 'failure' || probeType === 'startup') counts.count = 0;
}
