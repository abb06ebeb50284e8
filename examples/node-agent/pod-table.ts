import type { Clock, PodInspection, PodStatus, StatusManager } from 'kubelet-status-manager';
import type { SeenPod, PodHistory } from './pod-history.ts';
import { isDeletionRequested, podName, summarizePod, uidOnNode } from './pods.ts';
import type { TableRow } from './table.ts';

/** The pods as the agent sees them now, and how much of that the status manager has sent to the API server. */
export function podTableRows(history: PodHistory, statusManager: StatusManager, clock: Pick<Clock, 'now'>): TableRow[] {
  const inspections = new Map(statusManager.inspect().pods.map((inspection) => [inspection.podUID, inspection]));
  const nowMs = clock.now();
  return history.all().map((seen) => {
    const uid = uidOnNode(seen.pod);
    return toTableRow(seen, statusManager.getPodStatus(uid), inspections.get(uid), nowMs);
  });
}

function toTableRow(
  { pod, isGone }: SeenPod,
  status: PodStatus | undefined,
  inspection: PodInspection | undefined,
  nowMs: number,
): TableRow {
  const { phase, reason, readyContainers, totalContainers, restarts } = summarizePod(pod, status);
  return {
    pod: podName(pod),
    phase: isGone ? 'Deleted' : phase,
    ready: isGone ? '' : `${readyContainers}/${totalContainers}`,
    restarts: isGone ? '' : String(restarts),
    versions: inspection ? `${inspection.version}/${inspection.sentVersion ?? '-'}` : '',
    unsent: inspection?.unsentSince === undefined ? '' : ageOf(inspection.unsentSince, nowMs),
    reason: isGone ? '' : isDeletionRequested(pod) ? 'Terminating' : (inspection?.lastError ?? reason),
  };
}

function ageOf(since: string, nowMs: number): string {
  return `${Math.floor((nowMs - Date.parse(since)) / 1000)}s`;
}
