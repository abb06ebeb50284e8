import type { PodStatus } from '../../kube/objects/types.ts';

/** One accepted status that has not reached the API server. */
export interface JournalEntry {
  readonly podUID: string;
  readonly podNamespace: string;
  readonly podName: string;
  readonly podIsFinished: boolean;
  /** When it was accepted: a canonical time, never earlier than a time seen before. */
  readonly acceptedAt: string;
  readonly status: PodStatus;
}

/** Why a journal cannot record statuses, and since when (RFC 3339). */
export interface JournalFailure {
  readonly failingSince: string;
  readonly reason: string;
}

/**
 * Records accepted, unsent statuses, so that a crash of the agent does not lose them. A status is
 * recorded before `setPodStatus` returns, and therefore before it is sent: a restart never recovers a
 * status older than the API server's. One journal serves one manager. No method throws: a journal that
 * cannot write logs the failure, and the manager continues without it.
 * Divergence: the kubelet loses unsent statuses and observes its containers again.
 */
export interface Journal {
  /** Statuses that the last run left unsent, at most one per pod. */
  readonly recovered: readonly JournalEntry[];
  /** Records the pod's newest status, which replaces older ones. */
  accepted(entry: JournalEntry): void;
  /**
   * The pod's newest status has been written completely and no DELETE is due, or the pod is gone:
   * removes its entry.
   */
  settled(podUID: string): void;
  /** Why statuses cannot be recorded now, and since when (RFC 3339); undefined while they can. For `inspect()` and metrics. */
  failure?(): JournalFailure | undefined;
  /** Called by the manager's `stop()`. */
  close(): Promise<void>;
}
