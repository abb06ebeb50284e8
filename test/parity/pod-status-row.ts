import type { Pod, PodConditionInput, PodStatusInput } from 'kubelet-status-manager';
import type { CanonicalTime } from '../../src/shared/time.ts';

/** The status and the next actions of the kubelet for a pod at one moment. */
export interface PodStatusRow {
  readonly name: string;
  readonly pod: Pod;
  readonly previous?: PodStatusInput;
  readonly runtimeContainers: readonly RowContainer[];
  readonly sandboxes: readonly RowSandbox[];
  readonly podIPs: readonly string[];
  readonly nodeIPs: readonly string[];
  readonly startFailures: Readonly<Record<string, { readonly reason: string; readonly message: string }>>;
  readonly probeResults: Readonly<Record<string, RowProbeResults>>;
  readonly resizeConditions?: readonly PodConditionInput[];
  readonly podIsTerminal: boolean;
  readonly eviction?: { readonly reason: string; readonly message: string };
  /** The kubelet's results. */
  readonly status: PodStatusInput;
  readonly restartAllContainers: boolean;
  readonly actions: RowActions;
}

export interface RowContainer {
  readonly name: string;
  readonly containerID: string;
  readonly state: 'created' | 'running' | 'exited' | 'unknown';
  readonly inNewestSandbox: boolean;
  readonly createdAt: CanonicalTime;
  readonly startedAt: CanonicalTime;
  readonly finishedAt: CanonicalTime;
  readonly exitCode: number;
  readonly image: string;
  readonly imageID: string;
  readonly restartCount: number;
  readonly reason: string;
  readonly message: string;
}

export interface RowSandbox {
  readonly id: string;
  readonly attempt: number;
  readonly ready: boolean;
  readonly hostNetwork: boolean;
  /** Absent: the runtime reports no network; empty: it has no address yet. */
  readonly ip?: string;
}

export interface RowProbeResults {
  readonly startup?: boolean;
  readonly readiness?: boolean;
  readonly liveness?: boolean;
}

export interface RowActions {
  readonly killPod: boolean;
  readonly createSandbox: boolean;
  readonly sandboxID: string;
  readonly attempt: number;
  readonly initContainersToStart: readonly string[];
  readonly containersToStart: readonly string[];
  readonly ephemeralContainersToStart: readonly string[];
  readonly containersToKill: readonly {
    readonly containerID: string;
    readonly name: string;
    readonly message: string;
    readonly reason: string;
  }[];
  readonly containersToReset: readonly {
    readonly containerID: string;
    readonly name: string;
    readonly kill: boolean;
  }[];
}
