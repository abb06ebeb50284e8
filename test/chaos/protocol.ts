import type { PatchStrategy, PodStatus, ReadBeforePatch } from '../../src/index.ts';

/** What the run tells an agent process (over IPC) and what that says (lines of JSON on stdout). */

export interface AgentOptions {
  readonly concurrency: number;
  readonly readBeforePatch: ReadBeforePatch;
  readonly patchStrategy: PatchStrategy;
  readonly syncPeriodMs: number;
  readonly requestTimeoutMs: number;
  readonly qps?: number | undefined;
  readonly burst?: number | undefined;
}

/** One container as the container runtime has it, which outlives the agent. */
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

export interface AgentConfig {
  /** The proxy. */
  readonly server: string;
  readonly token: string;
  /** An exec credential plugin, in place of the token. */
  readonly exec?: object | undefined;
  /** A forward proxy on the way to `server`. */
  readonly proxyUrl?: string | undefined;
  readonly nodeName: string;
  /** 1 for the first agent process, one more for each that takes its place. */
  readonly incarnation: number;
  readonly seed: string;
  readonly journalDir?: string | undefined;
  /** Begin without reporting anything, so that only the journal speaks. */
  readonly isSilent: boolean;
  readonly options: AgentOptions;
  /** By pod UID, as the last agent left it. */
  readonly runtime: Readonly<Record<string, PodRuntime>>;
}

export type AgentCommand =
  | { readonly do: 'run'; readonly config: AgentConfig }
  /** The wall clock jumps. */
  | { readonly do: 'jump'; readonly ms: number }
  /** The disk of the agent is full, or has room again. */
  | { readonly do: 'disk'; readonly isFull: boolean }
  /** Ends the silence of an agent that began silently. */
  | { readonly do: 'speak' }
  /** Nothing happens at random any more; pods that are deleted still end. */
  | { readonly do: 'settle' }
  /** To be answered by `shown`. */
  | { readonly do: 'show' }
  | { readonly do: 'stop'; readonly drain: boolean };

/** What is cached of one pod. */
export interface ShownPod {
  readonly uid: string;
  readonly status: PodStatus;
  /** The manager's own words about it, for people. */
  readonly state: string;
}

/** What an agent says of itself when it has stopped. */
export interface StoppedAgent {
  /** What is still alive in the process. */
  readonly left: readonly string[];
  /** Outcomes of its updates, counted. */
  readonly outcomes: Readonly<Record<string, number>>;
  /** What was wrong with outcomes and `whenWritten`. */
  readonly broken: readonly string[];
  /** How often a listener or the logger threw on purpose. */
  readonly thrown: number;
}

export type AgentReport =
  | { readonly kind: 'running' }
  /** The manager has accepted a status with this version in it. */
  | { readonly kind: 'accepted'; readonly uid: string; readonly version: number; readonly isDiskFull?: boolean }
  | { readonly kind: 'rejected'; readonly uid: string; readonly reason: string }
  | { readonly kind: 'runtime'; readonly uid: string; readonly runtime: PodRuntime }
  /** All containers have stopped for good; comes before the manager is told. */
  | { readonly kind: 'ended'; readonly uid: string; readonly atMs: number }
  | {
      readonly kind: 'shown';
      readonly pods: readonly ShownPod[];
      readonly unsent: number;
      readonly known: readonly string[];
    }
  | { readonly kind: 'log'; readonly level: 'warn' | 'error'; readonly message: string; readonly reason: string }
  /** Comes last, when everything has been stopped. */
  | ({ readonly kind: 'stopped' } & StoppedAgent);

const versionPattern = /^v(\d+) of (\S+)$/;

/** The status message that carries a version and whose it is through the API server. */
export function messageOf(version: number, uid: string): string {
  return `v${version} of ${uid}`;
}

/** undefined when the message is none of ours. */
export function readMessage(message: unknown): { readonly version: number; readonly uid: string } | undefined {
  const match = typeof message === 'string' ? versionPattern.exec(message) : null;
  return match === null ? undefined : { version: Number(match[1]), uid: match[2]! };
}
