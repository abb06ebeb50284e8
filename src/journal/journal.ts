import type { PodStatus } from '../types.ts';

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

/** What is known of a status that an earlier run had accepted and not sent. */
export interface RecoveredStatus extends Omit<JournalEntry, 'status'> {
  readonly phase: string | undefined;
}

/**
 * What an earlier run accepted and did not send. With a terminal phase: the pod has ended, also
 * when its object on the API server still says Running.
 */
export interface RecoveredStatus extends Omit<JournalEntry, 'status'> {
  readonly phase: string | undefined;
}

/**
 * Keeps accepted but unsent statuses over a crash of the agent. A status is in the journal before
 * `setPodStatus` returns, so before it can be sent: what a restart finds is never older than what
 * the API server has seen. One journal serves one manager. No method throws: a journal that cannot
 * write says so in the log, and the manager goes on without it.
 * Divergence: the kubelet forgets what it has not sent, and observes its containers anew.
 */
export interface Journal {
  /** What the last run left unsent, at most one entry a pod. */
  readonly recovered: readonly JournalEntry[];
  /** The pod's newest status; replaces what was accepted of it before. */
  accepted(entry: JournalEntry): void;
  /** The pod's newest status has been written whole and no DELETE is due, or the pod is gone. */
  settled(podUID: string): void;
  /** Called by the manager's `stop()`. */
  close(): Promise<void>;
}
