import type { PodManager } from '../kube/pod-manager/pod-manager.ts';
import { isOutdatedMirror } from '../kube/pods/static-pods.ts';
import type { ValidPod } from '../kube/objects/types.ts';
import { adoptedFrom } from './cache/adopted-status.ts';
import type { PodStatusCache } from './cache/pod-status-cache.ts';
import type { Clock } from '../shared/clock.ts';
import type { JournalEntry } from './journal/journal.ts';
import { podFields } from '../shared/log-fields.ts';
import type { Logger } from '../shared/logger.ts';
import { canonicalPodStatus } from './status/canonical.ts';
import { isPodPhaseTerminal } from './status/phase.ts';

/**
 * A status that an earlier run accepted and did not send. When its phase is terminal, the pod has
 * ended even if its object on the API server still shows Running.
 */
export interface RecoveredStatus extends Omit<JournalEntry, 'status'> {
  readonly phase: string | undefined;
}

/** Caches the statuses that a journal has recovered as version 1, unsent, and logs each. They are sent after `start()`. */
export function recoverStatuses(
  entries: readonly JournalEntry[],
  cache: PodStatusCache,
  clock: Clock,
  logger: Logger,
): readonly RecoveredStatus[] {
  const recovered = entries.map(({ podUID, podNamespace, podName, podIsFinished, acceptedAt, status: recorded }) => {
    const status = canonicalPodStatus(recorded, { strict: false, unique: true });
    const adopted = { from: 'journal', acceptedAt, orphanedSinceMs: undefined } as const;
    const next = { podNamespace, podName, podIsFinished, status, urgent: podIsFinished, adopted };
    cache.set(podUID, next, clock.monotonicMs());
    const { phase } = recorded;
    const hasEnded = podIsFinished || isPodPhaseTerminal(phase);
    logger[hasEnded ? 'warn' : 'info'](
      { ...podFields(podUID, next), phase, podIsFinished, acceptedAt },
      hasEnded ? 'Recovered the unsent end of a pod: it must not run again' : 'Recovered an unsent status',
    );
    return Object.freeze({ podUID, podNamespace, podName, phase, podIsFinished, acceptedAt });
  });
  return Object.freeze(recovered);
}

/**
 * After a restart: caches the API server's statuses of these pods as version 1, marked as sent, and
 * never writes them. Skips pods that have a cached status or no phase.
 * @returns number of adopted statuses
 */
export function adoptServerStatuses(
  cache: PodStatusCache,
  podManager: PodManager,
  pods: Iterable<ValidPod>,
  nowMs: number,
): number {
  let count = 0;
  for (const pod of pods) {
    const { uid: apiUID, namespace, name } = pod.metadata;
    const uid = podManager.translatePodUID(apiUID);
    if (cache.has(uid) || !pod.status?.phase) continue;
    const known = podManager.getPodByUID(uid);
    if (known !== undefined && isOutdatedMirror(pod, known)) continue;
    const next = { podNamespace: namespace, podName: name, podIsFinished: false, urgent: false, ...adoptedFrom(pod) };
    cache.markSent(uid, apiUID, cache.set(uid, next, nowMs), { readAtMs: nowMs, atMs: nowMs, as: 'adopted' });
    count++;
  }
  return count;
}
