import isEqual from 'lodash/isEqual.js';
import { describe, expect, it } from 'vitest';
import { canonicalPodStatus } from '../../../src/status-manager/status/canonical.ts';
import { generateAPIPodStatus } from '../../../src/status-manager/status/generate.ts';
import type {
  ContainerStatus,
  ContainerStatusInput,
  Pod,
  PodConditionInput,
  PodStatus,
  PodStatusInput,
} from '../../../src/kube/objects/types.ts';
import { hasSharedTraces, readSharedTrace, whereSharedTraces } from '../../support/shared-traces.ts';

/** What the kubelet makes of what its container runtime shows for one pod. */
interface Row {
  readonly name: string;
  readonly pod: Pod;
  readonly previous?: PodStatusInput;
  readonly runtimeContainers: readonly {
    readonly name: string;
    readonly state: string;
    readonly inNewestSandbox?: boolean;
    readonly exitCode?: number;
  }[];
  readonly sandboxes: readonly { readonly ready: boolean; readonly hostNetwork?: boolean; readonly ip?: string }[];
  readonly podIPs: readonly string[];
  readonly nodeIPs: readonly string[];
  readonly resizeConditions?: readonly PodConditionInput[];
  readonly podIsTerminal?: boolean;
  readonly eviction?: { readonly reason: string; readonly message: string };
  readonly status: PodStatus;
}

/**
 * The status that we derive, given the container statuses that the kubelet converted. The kubelet
 * derives the phase before it puts what its probes say into them, so from the `started` of before.
 */
function derivedStatus(row: Row): PodStatus {
  const initContainerStatuses = row.status.initContainerStatuses ?? [];
  const { phase, reason, message } = derive(
    row,
    initContainerStatuses.map((status) => withFormerStarted(status, row)),
  );
  const status = derive(row, initContainerStatuses);
  return canonical({ ...status, phase, reason, message, initContainerStatuses });
}

function withFormerStarted(status: ContainerStatus, { previous, pod }: Row): ContainerStatusInput {
  const former = (previous ?? pod.status)?.initContainerStatuses?.find(({ name }) => name === status.name);
  return { ...status, started: former?.started };
}

function derive(row: Row, initContainerStatuses: readonly ContainerStatusInput[]): PodStatusInput {
  const { status } = row;
  const regular = new Set(row.pod.spec?.containers?.map(({ name }) => name));
  return generateAPIPodStatus(row.pod, {
    containerStatuses: status.containerStatuses ?? [],
    initContainerStatuses,
    ephemeralContainerStatuses: status.ephemeralContainerStatuses,
    sandboxes: row.sandboxes.map(({ ready, hostNetwork, ip }) => ({
      ready,
      hostNetwork,
      ...(ip !== undefined && { network: { ip } }),
    })),
    podIPs: row.podIPs,
    hostIPs: row.nodeIPs,
    podIsTerminal: row.podIsTerminal,
    podHasInitialized: row.runtimeContainers.some(({ name, inNewestSandbox }) => inNewestSandbox && regular.has(name)),
    previous: row.previous,
    // The recorded pods have no cgroup.
    resources: {},
    runtimeContainers: row.runtimeContainers.map(({ name, state, exitCode }) => ({
      name,
      exited: state === 'exited',
      exitCode,
    })),
    resizeConditions: row.resizeConditions,
    eviction: row.eviction,
  });
}

function expectedStatus({ status }: Row): PodStatus {
  return canonical(status);
}

function canonical(status: PodStatusInput): PodStatus {
  return canonicalPodStatus(status, { strict: false });
}

describe.skipIf(!hasSharedTraces)(`generateAPIPodStatus of the kubelet${whereSharedTraces}`, () => {
  it('gives the same status, given the same container statuses', () => {
    const rows = hasSharedTraces ? readSharedTrace<Row>('pod-status.jsonl.gz') : [];
    const different = rows.filter((row) => !isEqual(derivedStatus(row), expectedStatus(row)));
    expect(rows.length).toBeGreaterThan(0);
    // The first of them in full, then the names of all.
    expect(different.slice(0, 1).map(derivedStatus)).toEqual(different.slice(0, 1).map(expectedStatus));
    expect(different.map(({ name }) => name)).toEqual([]);
  });
});
