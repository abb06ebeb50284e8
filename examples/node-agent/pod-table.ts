import type { PodInspection, PodStatus, StatusManager } from 'kubelet-status-manager';
import type { SeenPod, PodHistory } from './pod-history.ts';
import { isDeletionRequested, podName, summarizePod, uidOnNode } from './pods.ts';
import { unsentStatuses } from './recovery.ts';
import type { TableRow } from './table.ts';

/** The pods as the agent sees them now, and how much of that the status manager has sent to the API server. */
export function podTableRows(history: PodHistory, statusManager: StatusManager): TableRow[] {
  const inspections = new Map(statusManager.inspect().pods.map((inspection) => [inspection.podUID, inspection]));
  return history.all().map((seen) => {
    const uid = uidOnNode(seen.pod);
    return toTableRow(seen, statusManager.getPodStatus(uid), inspections.get(uid));
  });
}

function toTableRow(
  { pod, isGone }: SeenPod,
  status: PodStatus | undefined,
  inspection: PodInspection | undefined,
): TableRow {
  const { phase, reason, readyContainers, totalContainers, restarts } = summarizePod(pod, status);
  return {
    // As in the output of kubectl for one namespace.
    pod: podName(pod).replace(/^default\//, ''),
    phase: isGone ? 'Deleted' : phase,
    ready: isGone ? '' : `${readyContainers}/${totalContainers}`,
    restarts: isGone ? '' : String(restarts),
    reason: isGone ? '' : isDeletionRequested(pod) ? 'Terminating' : reason,
    cached: String(inspection?.version ?? ''),
    sent: inspection === undefined ? '' : String(inspection.sentVersion ?? '-'),
    unsent: String((inspection && unsentStatuses(inspection)) || ''),
  };
}
