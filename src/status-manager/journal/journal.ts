import type { PodStatus } from '../../kube/types.ts';

/** One accepted status that has not reached the API server. */
export interface JournalEntry {
  readonly podUID: string;
  readonly podNamespace: string;
  readonly podName: string;
  readonly podIsFinished: boolean;
  /** When it was accepted: a canonical time, and no earlier than any that the agent had seen by then. */
  readonly acceptedAt: string;
  readonly status: PodStatus;
}

/** Why a journal cannot record statuses, and since when (RFC 3339). */
export interface JournalFailure {
  readonly failingSince: string;
  readonly reason: string;
}

/**
 * Records statuses that were accepted and not yet sent, so that a crash of the agent does not lose
 * them. A status is recorded before `setPodStatus` returns, so before it can be sent: what a restart
 * recovers is never older than what the API server has seen. One journal serves one manager. No
 * method throws: a journal that cannot write logs it, and the manager continues without it.
 * Divergence: the kubelet forgets what it has not sent, and observes its containers again.
 */
export interface Journal {
  /** What the last run left unsent, at most one entry per pod. */
  readonly recovered: readonly JournalEntry[];
  /** The pod's newest status, which replaces older ones. */
  accepted(entry: JournalEntry): void;
  /** The pod's newest status has been written completely and no DELETE is due, or the pod is gone. */
  settled(podUID: string): void;
  /** Why statuses cannot be recorded now, and since when (RFC 3339); undefined while they can. For `inspect()` and metrics. */
  failure?(): JournalFailure | undefined;
  /** Called by the manager's `stop()`. */
  close(): Promise<void>;
}
