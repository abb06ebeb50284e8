import type { JournalDamage } from './journal-lines.ts';
import type { Clock } from '../../shared/clock.ts';
import { FailureLog } from '../../shared/failure-log.ts';
import { type Logger, reasonOf } from '../../shared/logger.ts';
import { timeFromEpochMs } from '../../shared/time.ts';
import type { JournalEntry, JournalFailure } from './journal.ts';

const maxLoggedPods = 10;
const cannotRecord = 'Statuses cannot be recorded in the journal and would be lost in a crash';

interface JournalLogSettings {
  readonly file: string;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** Logs lost statuses and failed file operations. */
export class JournalLog {
  readonly #settings: JournalLogSettings;
  readonly #recording: FailureLog;
  /** By action. */
  readonly #actions = new Map<string, FailureLog>();
  /** Cannot recover in this process. */
  #permanentFailure: JournalFailure | undefined;

  constructor(settings: JournalLogSettings) {
    this.#settings = settings;
    this.#recording = this.#failureLog(
      cannotRecord,
      'The journal can be written again; all unsent statuses are recorded',
    );
  }

  /** Why statuses cannot be recorded now. */
  get failure(): JournalFailure | undefined {
    return this.#recording.failure ?? this.#permanentFailure;
  }

  canOnlyBeRead(error: unknown): void {
    this.#error(
      { reason: reasonOf(error) },
      'The journal can only be read; statuses accepted from now on would be lost in a crash',
    );
  }

  lineWasIncomplete(incompleteBytes: number): void {
    this.#warn({ incompleteBytes }, 'Removed an incomplete last line from the journal');
  }

  isDamaged({ lines, bytes, dropped }: JournalDamage, savedAs: string): void {
    this.#error(
      { savedAs, damagedLines: lines, damagedBytes: bytes, droppedPods: podNames(dropped) },
      'The journal is damaged: the statuses in damaged lines are lost, and older ones of the same pods are dropped',
    );
  }

  /** @param since when the file was last seen in its place (RFC 3339) */
  wasMoved(since: string): void {
    this.#error(
      { since },
      'The journal file has been renamed or deleted; all unsent statuses are recorded in a new one',
    );
  }

  wasReplaced(): void {
    this.#permanentFailure = {
      failingSince: timeFromEpochMs(this.#settings.clock.now()),
      reason: 'another process has replaced the file',
    };
    this.#error({}, 'Another process has replaced the journal file; nothing more is recorded');
  }

  actionFailed(action: string, error: unknown): void {
    let log = this.#actions.get(action);
    if (log === undefined) {
      const what = 'A journal file operation';
      log = this.#failureLog(`${what} failed`, `${what} succeeded again`);
      this.#actions.set(action, log);
    }
    log.failed(error, { file: this.#settings.file, action }, { level: 'error' });
  }

  actionSucceeded(action: string): void {
    this.#actions.get(action)?.succeeded({ file: this.#settings.file, action });
  }

  /** @param unrecorded how many entries are not recorded, and which */
  cannotRecord(error: unknown, unrecorded: number, entries: Iterable<JournalEntry>): void {
    const fields = { file: this.#settings.file, unrecorded, pods: podNames(entries) };
    this.#recording.failed(error, fields, { level: 'error' });
  }

  recordsAll(): void {
    this.#recording.succeeded({ file: this.#settings.file });
  }

  closedWithout(unrecorded: number, entries: Iterable<JournalEntry>): void {
    if (unrecorded === 0) return;
    const { reason: failure } = this.#recording;
    const reason = `the journal is closed${failure === undefined ? '' : `: ${failure}`}`;
    this.#error({ reason, unrecorded, pods: podNames(entries) }, cannotRecord);
  }

  #failureLog(failed: string, recovered: string): FailureLog {
    const { logger, clock } = this.#settings;
    return new FailureLog({ logger, clock, what: { failed, recovered } });
  }

  #warn(fields: object, message: string): void {
    this.#settings.logger.warn({ file: this.#settings.file, ...fields }, message);
  }

  #error(fields: object, message: string): void {
    this.#settings.logger.error({ file: this.#settings.file, ...fields }, message);
  }
}

function podNames(entries: Iterable<JournalEntry>): string[] {
  const names: string[] = [];
  for (const { podNamespace, podName } of entries) {
    if (names.length === maxLoggedPods) break;
    names.push(`${podNamespace}/${podName}`);
  }
  return names;
}
