import type { JournalDamage } from './journal-lines.ts';
import type { Clock } from '../../shared/clock.ts';
import type { Logger } from '../../shared/logger.ts';
import type { JournalEntry } from './journal.ts';

/** The same failure is logged again after so long: while the disk is full, every update fails. */
const repeatedLogMs = 60_000;
const maxLoggedPods = 10;

interface JournalLogSettings {
  readonly file: string;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** What a journal logs: what is lost, and why. */
export class JournalLog {
  readonly #settings: JournalLogSettings;
  readonly #loggedMs = new Map<string, number>();

  constructor(settings: JournalLogSettings) {
    this.#settings = settings;
  }

  canOnlyBeRead(error: unknown): void {
    this.#error(
      { reason: reasonOf(error) },
      'The journal can only be read; statuses accepted from now on would be lost in a crash',
    );
  }

  lineWasIncomplete(incompleteBytes: number): void {
    this.#warn({ incompleteBytes }, 'The last line of the journal was incomplete and has been removed');
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
    this.#warn({}, 'The journal can be written again; all unsent statuses are recorded');
  }

  #logUnrecorded(entries: readonly JournalEntry[], reason: string): void {
    this.#error(
      { reason, unrecorded: entries.length, pods: podNames(entries) },
      'Statuses cannot be recorded in the journal and would be lost in a crash',
    );
  }

  #isDue(failure: string): boolean {
    const nowMs = this.#settings.clock.monotonicMs();
    if (nowMs < (this.#loggedMs.get(failure) ?? -Infinity) + repeatedLogMs) return false;
    this.#loggedMs.set(failure, nowMs);
    return true;
  }

  #warn(fields: object, message: string): void {
    this.#settings.logger.warn({ file: this.#settings.file, ...fields }, message);
  }

  #error(fields: object, message: string): void {
    this.#settings.logger.error({ file: this.#settings.file, ...fields }, message);
  }
}

function podNames(entries: readonly JournalEntry[]): string[] {
  return entries.slice(0, maxLoggedPods).map(({ podNamespace, podName }) => `${podNamespace}/${podName}`);
}

function reasonOf(error: unknown): string {
  return (error as Error).message;
}
