import type { PodStatus } from '../../src/status-manager/index.ts';
import type { PatchStrategy } from '../../src/status-manager/sync/decide.ts';
import type { ReadBeforePatch } from '../../src/status-manager/sync/sync-ports.ts';
import type { Access } from './kube-config.ts';

/** The commands of the run to an agent process (over IPC) and the reports of that process (lines of JSON on stdout). */

export interface AgentOptions {
  readonly concurrency: number;
  readonly readBeforePatch: ReadBeforePatch;
  readonly patchStrategy: PatchStrategy;
  readonly syncPeriodMs: number;
  readonly requestTimeoutMs: number;
  readonly qps?: number | undefined;
  readonly burst?: number | undefined;
}

/** One container in the container runtime, which outlives the agent. */
export interface RuntimeContainer {
  readonly name: string;
  state: 'waiting' | 'running' | 'terminated';
  exitCode: number;
  restartCount: number;
  ready: boolean;
  started: boolean;
  startedAt: string;
  finishedAt: string;
  last?: { readonly exitCode: number; readonly startedAt: string; readonly finishedAt: string } | undefined;
}

export interface PodRuntime {
  readonly containers: RuntimeContainer[];
  /** No container runs or will ever run again. */
  ended: boolean;
}

export interface AgentConfig extends Access {
  readonly nodeName: string;
  /** 1 for the first agent process, and one more for each process that replaces it. */
  readonly incarnation: number;
  readonly seed: string;
  readonly journalDir?: string | undefined;
  /** Starts without reporting any status, so that only statuses from the journal are sent. */
  readonly isSilent: boolean;
  readonly options: AgentOptions;
  /** By pod UID, as the previous agent left it. */
  readonly runtime: Readonly<Record<string, PodRuntime>>;
}

export type AgentCommand<Config = AgentConfig> =
  | { readonly do: 'run'; readonly config: Config }
  /** The wall clock jumps. */
  | { readonly do: 'jump'; readonly ms: number }
  /** The disk of the agent is full, or has space again. */
  | { readonly do: 'disk'; readonly isFull: boolean }
  /** Tells an agent that started silently to report statuses. */
  | { readonly do: 'report' }
  /** Stops all random changes. Deleted pods still terminate. */
  | { readonly do: 'settle' }
  /** Requests the report `shown`. */
  | { readonly do: 'show' }
  | { readonly do: 'stop'; readonly drain: boolean };

/** The cache entry of one pod. */
export interface ShownPod {
  readonly uid: string;
  readonly status: PodStatus;
  /** The pod's entry of `inspect()`, for people. */
  readonly state: string;
}

/** The report of an agent that has stopped. */
export interface StoppedAgent {
  /** Resources that are still active in the process. */
  readonly left: readonly string[];
  /** The number of its updates by outcome. */
  readonly outcomes: Readonly<Record<string, number>>;
  /** Violations of the guarantees about outcomes and `whenWritten`. */
  readonly broken: readonly string[];
  /** How often a listener or the logger threw on purpose. */
  readonly thrown: number;
}

export type AgentReport =
  | { readonly kind: 'running' }
  /** The manager has accepted a status that contains this version. */
  | { readonly kind: 'accepted'; readonly uid: string; readonly version: number; readonly isDiskFull?: boolean }
  | { readonly kind: 'rejected'; readonly uid: string; readonly reason: string }
  | { readonly kind: 'runtime'; readonly uid: string; readonly runtime: PodRuntime }
  /** All containers have terminated. Sent before the manager is told. */
  | { readonly kind: 'ended'; readonly uid: string; readonly atMs: number }
  | {
      readonly kind: 'shown';
      readonly pods: readonly ShownPod[];
      readonly unsent: number;
      readonly known: readonly string[];
    }
  /** An agent of the agent kit is about to create a container. */
  | { readonly kind: 'creating'; readonly uid: string; readonly container: string }
  /** The nodes that a replica owns now. */
  | { readonly kind: 'owned'; readonly nodes: readonly string[] }
  | { readonly kind: 'log'; readonly level: 'warn' | 'error'; readonly message: string; readonly reason: string }
  /** The last report, when everything has stopped. */
  | ({ readonly kind: 'stopped' } & StoppedAgent);

const versionPattern = /^v(\d+) of (\S+)$/;

/** A status message that contains a version and the UID of its pod, so that both can be read on the API server. */
export function messageOf(version: number, uid: string): string {
  return `v${version} of ${uid}`;
}

/** undefined if the message is not one of ours. */
export function readMessage(message: unknown): { readonly version: number; readonly uid: string } | undefined {
  const match = typeof message === 'string' ? versionPattern.exec(message) : null;
  return match === null ? undefined : { version: Number(match[1]), uid: match[2]! };
}
