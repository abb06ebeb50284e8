import type { Metrics, StatusGauges, TerminatingPodsGauge, TerminatingWait, WaitReason } from './metrics.ts';
import { epochMsOf, MonotonicTimes } from '../shared/time.ts';
import { terminationWaitOf } from './pod-deletion-safety.ts';
import type { PodRecord, PodRecords } from './sync/pod-records.ts';
import { uidsThatMayWait, type WaitingFor } from './sync/waiting-for.ts';
import { type InspectionSources, lastSuccessAgeMs, waitingForOf } from './inspection.ts';

/** @returns unregisters the gauges of a manager that stops */
export function registerStatusGauges(metrics: Metrics, sources: () => InspectionSources): () => void {
  // The caller's metrics may lack the method, or return nothing.
  const unregister = metrics.registerStatusGauges(() => readStatusGauges(sources())) as (() => void) | undefined;
  return () => {
    metrics.setPendingResizes([]);
    metrics.setInProgressResizes(0);
    unregister?.();
  };
}

/** The gauges as they are now. */
function readStatusGauges(sources: InspectionSources): StatusGauges {
  const { cache, podManager, clock, loop, journal, records, terminations } = sources;
  const times = new MonotonicTimes(clock);
  const secondsSince = (since: string): number => (clock.now() - epochMsOf(since)) / 1000;
  const waiting = new Map<WaitReason, number>();
  const terminating = new Map<TerminatingWait, TerminatingPodsGauge>();
  const gauges = cache.gauges(times.nowMs);
  let { unsentStatuses, oldestUnsentAgeSeconds } = gauges;
  const count = (reason: WaitReason): void => void waiting.set(reason, (waiting.get(reason) ?? 0) + 1);
  const countTerminating = (waitingFor: TerminatingWait, since: string): void => {
    const { count: before = 0, oldestAgeSeconds = 0 } = terminating.get(waitingFor) ?? {};
    const ageSeconds = Math.max(oldestAgeSeconds, secondsSince(since));
    terminating.set(waitingFor, { waitingFor, count: before + 1, oldestAgeSeconds: ageSeconds });
  };
  for (const uid of uidsThatMayWait(sources)) {
    const versioned = cache.get(uid);
    const wait = versioned && waitingForOf(uid, versioned, sources, times);
    if (wait === undefined) continue;
    count(wait.kind === 'back-off' ? wait.class : wait.kind);
    if (versioned?.unsentSinceMs === undefined && wait.kind === 'hot-loop') {
      unsentStatuses++;
      oldestUnsentAgeSeconds = Math.max(oldestUnsentAgeSeconds, secondsSince(wait.since));
    }
    const terminatingWait = terminatingWaitOf(wait);
    if (terminatingWait !== undefined) countTerminating(terminatingWait, wait.since);
  }
  for (const { since } of loop?.terminatingPods.requestedDeletions(times) ?? []) {
    count('finalizers');
    countTerminating('finalizers', since);
  }
  for (const termination of terminations.values()) {
    const { gracePeriodEndsAt } = termination;
    if (secondsSince(gracePeriodEndsAt) > 0) countTerminating(terminationWaitOf(termination), gracePeriodEndsAt);
  }
  const informer = podManager.informerState?.();
  const outage = loop?.apiOutage.inspect(times);
  const successAgeMs = lastSuccessAgeMs(loop, informer, clock);
  return {
    cachedStatuses: gauges.cachedStatuses,
    unsentStatuses,
    oldestUnsentAgeSeconds,
    waitingPods: Array.from(waiting, ([reason, pods]) => ({ reason, count: pods })),
    terminatingPods: [...terminating.values()],
    lastSuccessfulRequestAgeSeconds: successAgeMs === undefined ? undefined : successAgeMs / 1000,
    outage: outage && {
      ageSeconds: secondsSince(outage.since),
      outcome: outage.failure,
      code: String(outage.statusCode ?? '<error>'),
    },
    hotLoopPods: countOf(records, ({ lastPatch }) => lastPatch?.hotLoop !== undefined),
    rejectedPods: countOf(records, ({ rejected }) => rejected !== undefined),
    isJournalFailing: journal.isRecording ? journal.failure !== undefined : undefined,
    informer: informer && {
      isSynced: informer.isSynced,
      lastEventAgeSeconds: informer.lastEventAt === undefined ? undefined : secondsSince(informer.lastEventAt),
      restarts: informer.restarts,
    },
  };
}

function countOf(records: PodRecords, isCounted: (record: PodRecord) => boolean): number {
  return [...records.values()].filter(isCounted).length;
}

function terminatingWaitOf(wait: WaitingFor): TerminatingWait | undefined {
  if (wait.kind === 'pod-deletion-safety') return wait.kind;
  return wait.kind === 'back-off' && wait.verb === 'delete' ? 'delete' : undefined;
}
