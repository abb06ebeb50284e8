import type { Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import type { JournalDamage } from './journal-lines.ts';
import type { JournalEntry } from './journal.ts';

/** The same failure is logged again after so long: while the disk is full, every update fails. */
const repeatedLogMs = 60_000;
const maxLoggedPods = 10;

/** What a journal logs: what is lost, and why. */
export class JournalLog {
  readonly #file: string;
  readonly #logger: Logger;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #loggedMs = new Map<string, number>();

  constructor(file: string, logger: Logger, clock: Pick<Clock, 'monotonicMs'>) {
    this.#file = file;
    this.#logger = logger;
    this.#clock = clock;
  }

  canOnlyBeRead(error: unknown): void {
    this.#error(
      { reason: reasonOf(error) },
      'The journal can only be read; statuses accepted from now on would be lost in a crash',
    );
  }

  lineWasIncomplete(incompleteBytes: number): void {
    this.#logger.warn(
      { file: this.#file, incompleteBytes },
      'The last line of the journal was incomplete and has been removed',
    );
  }

  isDamaged({ lines, bytes, dropped }: JournalDamage, keptAs: string): void {
    this.#error(
      { keptAs, damagedLines: lines, damagedBytes: bytes, droppedPods: podNames(dropped) },
      'The journal is damaged: the statuses in damaged lines are lost, and older ones of the same pods are dropped',
    );
  }

  wasReplaced(): void {
    this.#error({}, 'Another process has replaced the file of the journal; nothing more is recorded');
  }

  actionFailed(action: string, error: unknown): void {
    if (this.#isDue(action))
      this.#error({ action, reason: reasonOf(error) }, 'An operation on the file of the journal failed');
  }

  cannotRecord(entries: () => readonly JournalEntry[], error: unknown): void {
    if (this.#isDue('record')) this.#logUnrecorded(entries(), reasonOf(error));
  }

  closedWithout(entries: readonly JournalEntry[]): void {
    if (entries.length > 0) this.#logUnrecorded(entries, 'the journal is closed');
  }

  recordsAgain(): void {
    this.#loggedMs.clear();
    this.#logger.warn({ file: this.#file }, 'The journal can be written again; all unsent statuses are recorded');
  }

  #logUnrecorded(entries: readonly JournalEntry[], reason: string): void {
    this.#error(
      { reason, unrecorded: entries.length, pods: podNames(entries) },
      'Statuses cannot be recorded in the journal and would be lost in a crash',
    );
  }

  #isDue(failure: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs < (this.#loggedMs.get(failure) ?? Number.NEGATIVE_INFINITY) + repeatedLogMs) return false;
    this.#loggedMs.set(failure, nowMs);
    return true;
  }

  #error(fields: object, message: string): void {
    this.#logger.error({ file: this.#file, ...fields }, message);
  }
}

function podNames(entries: readonly JournalEntry[]): string[] {
  return entries.slice(0, maxLoggedPods).map(({ podNamespace, podName }) => `${podNamespace}/${podName}`);
}

function reasonOf(error: unknown): string {
  return (error as Error).message;
}
