import type { Clock } from '../../shared/clock.ts';
import { timeFromEpochMs } from '../../shared/time.ts';
import { latestOf, latestTime } from '../status/server-newer.ts';
import type { PodStatus } from '../../kube/objects/types.ts';
import type { Journal, JournalEntry, JournalFailure } from './journal.ts';

/**
 * Connects a manager to its journal. Without a journal every method is a no-op.
 */
export class StatusJournal {
  readonly #journal: Journal | undefined;
  readonly #clock: Pick<Clock, 'now'>;
  /** Pod UID → acceptance time of its newest status, as long as that is not settled. */
  readonly #acceptedAt = new Map<string, string>();
  /** The latest time of the wall clock, in case that it jumps back. */
  #latestTime = '';

  constructor(journal: Journal | undefined, clock: Pick<Clock, 'now'>) {
    this.#journal = journal;
    this.#clock = clock;
    for (const { podUID, acceptedAt } of journal?.recovered ?? []) this.#acceptedAt.set(podUID, acceptedAt);
  }

  accepted(podUID: string, accepted: Omit<JournalEntry, 'podUID' | 'acceptedAt'>, oldStatus: PodStatus): void {
    if (this.#journal === undefined) return;
    const { podNamespace, podName, podIsFinished, status } = accepted;
    this.#latestTime = latestOf([this.#latestTime, timeFromEpochMs(this.#clock.now())]);
    // Times of a pod, which anybody may have written, count for this pod only.
    const seen = [this.#acceptedAt.get(podUID), latestTime(oldStatus), latestTime(status)];
    const acceptedAt = latestOf([this.#latestTime, ...seen]);
    this.#acceptedAt.set(podUID, acceptedAt);
    this.#journal.accepted({ podUID, podNamespace, podName, podIsFinished, acceptedAt, status });
  }

  /** As `Journal.settled`. */
  settled(podUID: string): void {
    this.#acceptedAt.delete(podUID);
    this.#journal?.settled(podUID);
  }

  /** Whether there is a journal. */
  get isRecording(): boolean {
    return this.#journal !== undefined;
  }

  /** Why statuses cannot be recorded now. */
  get failure(): JournalFailure | undefined {
    return this.#journal?.failure?.();
  }

  async close(): Promise<void> {
    await this.#journal?.close();
  }
}
