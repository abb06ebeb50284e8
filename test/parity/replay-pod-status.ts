import cloneDeepWith from 'lodash/cloneDeepWith.js';
import type { PodStatus } from 'kubelet-status-manager';
import { canonicalPodStatus } from '../../src/status-manager/status/canonical.ts';
import { shouldAllContainersRestart } from '../../src/status-manager/status/generate-runtime-conditions.ts';
import type { ProbeResult, RuntimeContainerStatus } from 'kubelet-status-manager/agent';
import { computePodActions } from '../../src/agent/actions/compute-pod-actions.ts';
import { generatePodStatus } from '../../src/node/status/generate-pod-status.ts';
import { hashContainer } from '../../src/node/runtime/hash-container.ts';
import type { PodActions } from '../../src/agent/actions/pod-actions.ts';
import type { ProbeType } from '../../src/node/probes/probe-results.ts';
import type { RuntimePodStatus } from '../../src/node/runtime/runtime-pod-status.ts';
import { type Divergence, differences } from './compare.ts';
import type { PodStatusRow, RowActions, RowContainer, RowSandbox } from './pod-status-row.ts';

const shownDifferences = 20;

/** The differences between our status and actions and the kubelet's. */
export function replayPodStatusRow(recorded: PodStatusRow): Divergence[] {
  const row = withOneLastState(recorded);
  const expected = {
    status: expectedStatus(row),
    restartAllContainers: row.restartAllContainers,
    actions: sortedKills(row.actions),
  };
  return agentStartsOf(row).flatMap((agentStartedAtMs) => {
    let got: unknown;
    try {
      got = resultsOf(row, agentStartedAtMs);
    } catch (error) {
      got = { thrown: String(error) };
    }
    return differences(expected, got, '', shownDifferences).map(({ path, ...rest }) => ({
      ...whereOf(row.name),
      op: 'pod-status',
      path: path.slice(1),
      ...rest,
    }));
  });
}

/**
 * Starts of the agent for which the kubelet's result is the recorded one. It was recorded by a kubelet that is
 * younger than all containers by hours, so it is the same for one that is just out of the grace period of 10 s.
 * When no result of a readiness probe is missing, the age of the kubelet has no effect at all.
 */
function agentStartsOf({ pod, runtimeContainers, probeResults }: PodStatusRow): number[] {
  const times = runtimeContainers.flatMap(({ startedAt }) => (startedAt === null ? [] : [Date.parse(startedAt)]));
  if (times.length === 0) return [Date.now()];
  const { containers = [], initContainers = [] } = pod.spec ?? {};
  const isKnown = runtimeContainers.every(
    ({ name, state, containerID }) =>
      state !== 'running' ||
      [...containers, ...initContainers].find((one) => one.name === name)?.readinessProbe == null ||
      probeResults[containerID]?.readiness !== undefined,
  );
  return [Date.now(), Math.max(...times) + 11_000, ...(isKnown ? [Math.min(...times) - 60_000] : [])];
}

/** Rows of a pod's life are named `LIFE step N`. */
function whereOf(name: string): { trace: string; step: number } {
  const [, trace = name, step = '0'] = /^(.*) step (\d+)$/.exec(name) ?? [];
  return { trace, step: Number(step) };
}

/** Our status and next actions. */
export function resultsOf(
  row: Omit<PodStatusRow, 'actions' | 'restartAllContainers' | 'status'>,
  agentStartedAtMs: number,
): { status: PodStatus; restartAllContainers: boolean; actions: RowActions } {
  const { pod } = row;
  const runtimeStatus = runtimeStatusOf(row);
  const probeResults = probeResultsOf(row);
  const status = generatePodStatus(pod, {
    runtimeStatus,
    previous: row.previous,
    // The recorded pods have no cgroup.
    resources: {},
    startFailures: new Map(Object.entries(row.startFailures)),
    probeResults,
    agentStartedAtMs,
    hostIPs: row.nodeIPs,
    resizeConditions: row.resizeConditions,
    podIsTerminal: row.podIsTerminal,
    eviction: row.eviction,
  });
  const restartAllContainers = shouldAllContainersRestart(
    pod,
    row.previous ?? pod.status,
    runtimeStatus.containers.map(({ name, state, exitCode }) => ({ name, exited: state === 'exited', exitCode })),
  );
  const actions = computePodActions(pod, runtimeStatus, probeResults, restartAllContainers);
  return {
    status: canonicalPodStatus(status, { strict: true }),
    restartAllContainers,
    actions: sortedKills(namesOf(actions)),
  };
}

/** Some rows have a condition twice, which no API server has. In canonical form the last one stays. */
function expectedStatus({ status }: PodStatusRow): PodStatus {
  return canonicalPodStatus(status, { strict: true });
}

/** Removes the state other than `terminated` from a lastState with two states, which only the kubelet produces. */
function withOneLastState(row: PodStatusRow): PodStatusRow {
  return cloneDeepWith(row, (value: unknown, key) =>
    key === 'lastState' && isEnd(value) ? { terminated: value.terminated } : undefined,
  ) as PodStatusRow;
}

function isEnd(value: unknown): value is { readonly terminated: object } {
  return typeof value === 'object' && value !== null && 'terminated' in value;
}

export function runtimeStatusOf({
  runtimeContainers,
  sandboxes,
  podIPs,
}: Pick<PodStatusRow, 'podIPs' | 'runtimeContainers' | 'sandboxes'>): RuntimePodStatus {
  return {
    containers: runtimeContainers.map((container) => runtimeContainerOf(container, sandboxes[0])),
    sandboxes: sandboxes.map(({ ip, ...sandbox }) => ({ ...sandbox, ...(ip !== undefined && { network: { ip } }) })),
    // In the rows it counts as active even when it is not ready.
    activeSandboxID: sandboxes[0]?.id,
    ips: podIPs,
  };
}

function runtimeContainerOf(container: RowContainer, newest: RowSandbox | undefined): RuntimeContainerStatus {
  const { containerID, inNewestSandbox, createdAt, startedAt, finishedAt, restartCount, ...same } = container;
  return {
    ...same,
    id: containerID,
    sandboxID: inNewestSandbox && newest !== undefined ? newest.id : 'an earlier one',
    attempt: restartCount,
    createdAtMs: Date.parse(createdAt!),
    ...(startedAt !== null && { startedAtMs: Date.parse(startedAt) }),
    ...(finishedAt !== null && { finishedAtMs: Date.parse(finishedAt) }),
    hash: hashContainer(container),
  };
}

function probeResultsOf({
  probeResults,
}: Pick<PodStatusRow, 'probeResults'>): Record<ProbeType, Map<string, ProbeResult>> {
  const results = (type: ProbeType): Map<string, ProbeResult> =>
    new Map(
      Object.entries(probeResults).flatMap(([containerID, { [type]: succeeded }]) =>
        succeeded === undefined ? [] : [[containerID, succeeded ? 'success' : 'failure']],
      ),
    );
  return { startup: results('startup'), readiness: results('readiness'), liveness: results('liveness') };
}

/** Rows have no resizes. */
function namesOf(actions: PodActions): RowActions {
  const names = (containers: readonly { readonly name: string }[]): string[] => containers.map(({ name }) => name);
  return {
    killPod: actions.killPod,
    createSandbox: actions.createSandbox,
    sandboxID: actions.sandboxID,
    attempt: actions.attempt,
    initContainersToStart: names(actions.initContainersToStart),
    containersToStart: names(actions.containersToStart),
    ephemeralContainersToStart: names(actions.ephemeralContainersToStart),
    containersToKill: actions.containersToKill.map(({ container: { name }, ...kill }) => ({ ...kill, name })),
    containersToReset: actions.containersToReset.map(({ container: { name }, ...reset }) => ({ ...reset, name })),
  };
}

/** The kubelet has them in a map, which has no order. */
function sortedKills(actions: RowActions): RowActions {
  return {
    ...actions,
    containersToKill: actions.containersToKill.toSorted((a, b) => (a.containerID < b.containerID ? -1 : 1)),
  };
}
