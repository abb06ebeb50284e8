import { adoptRecordedStatus } from '../cache/adopt-statuses.ts';
import type { PodStatusCache } from '../cache/pod-status-cache.ts';
import type { Clock } from '../clock.ts';
import type { JournalEntry } from '../journal/journal.ts';
import type { StatusJournal } from '../journal/status-journal.ts';
import { podFields } from '../log-fields.ts';
import type { Logger } from '../logger.ts';
import { isPodPhaseTerminal } from '../status/phase.ts';

/**
 * A status that an earlier run accepted and did not send. When its phase is terminal, the pod has
 * ended even if its object on the API server still shows Running.
 */
export interface RecoveredStatus extends Omit<JournalEntry, 'status'> {
  readonly phase: string | undefined;
}

/** Caches the statuses in the journal, to be sent after `start()`, and logs each. */
export function recoverStatuses(
  journal: StatusJournal,
  cache: PodStatusCache,
  clock: Clock,
  logger: Logger,
): readonly RecoveredStatus[] {
  const recovered: RecoveredStatus[] = [];
  journal.recover((entry) => {
    adoptRecordedStatus(cache, entry, clock.monotonicMs());
    const { podUID, podNamespace, podName, podIsFinished, acceptedAt, status } = entry;
    const { phase } = status;
    recovered.push(Object.freeze({ podUID, podNamespace, podName, phase, podIsFinished, acceptedAt }));
    const hasEnded = podIsFinished || isPodPhaseTerminal(phase);
    logger[hasEnded ? 'warn' : 'info'](
      { ...podFields(podUID, entry), phase, podIsFinished, acceptedAt },
      hasEnded ? 'Recovered the unsent end of a pod: it must not run again' : 'Recovered an unsent status',
    );
  });
  return Object.freeze(recovered);
}
