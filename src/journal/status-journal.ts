import type { Clock } from '../clock.ts';
import { timeFromEpochMs } from '../status/canonical-time.ts';
import { latestTime } from '../status/newer.ts';
import type { PodStatus } from '../types.ts';
import type { Journal, JournalEntry } from './journal.ts';

/**
 * A manager's side of its journal: what it tells it, and which statuses are from an earlier run.
 * Without a journal every method does nothing.
 */
export class StatusJournal {
  readonly #journal: Journal | undefined;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #recovered = new Map<string, string>();
  /** No accepted status bears a later time, though the wall clock may have jumped back since. */
  #latestTime = '';

  constructor(journal: Journal | undefined, clock: Pick<Clock, 'now'>) {
    this.#journal = journal;
    this.#clock = clock;
  }

  /** Statuses of an earlier run that nobody has set anew or sent since: pod UID → when it was accepted. */
  get recovered(): ReadonlyMap<string, string> {
    return this.#recovered;
  }

  /** Hands over what an earlier run has left unsent. */
  recover(restore: (entry: JournalEntry) => void): void {
    for (const entry of this.#journal?.recovered ?? []) {
      this.#recovered.set(entry.podUID, entry.acceptedAt);
      this.#noteTimes(entry.acceptedAt);
      restore(entry);
    }
  }

  accepted(podUID: string, accepted: Omit<JournalEntry, 'podUID' | 'acceptedAt'>, oldStatus: PodStatus): void {
    this.#recovered.delete(podUID);
    if (this.#journal === undefined) return;
    const { podNamespace, podName, podIsFinished, status } = accepted;
    this.#noteTimes(timeFromEpochMs(this.#clock.now()), latestTime(oldStatus), latestTime(status));
    this.#journal.accepted({ podUID, podNamespace, podName, podIsFinished, acceptedAt: this.#latestTime, status });
  }

  /** Somebody has set the very same status in this run: it is no longer only what an earlier one knew. */
  confirmed(podUID: string): void {
    this.#recovered.delete(podUID);
  }

  /** A terminal phase that is held back is written when the containers have ended, maybe by a later run. */
  sent(podUID: string, isWhole: boolean): void {
    this.#recovered.delete(podUID);
    if (isWhole) this.#journal?.settled(podUID);
  }

  dropped(podUID: string): void {
    this.#recovered.delete(podUID);
    this.#journal?.settled(podUID);
  }

  async close(): Promise<void> {
    await this.#journal?.close();
  }

  #noteTimes(...times: readonly string[]): void {
    for (const time of times) if (time > this.#latestTime) this.#latestTime = time;
  }
}
