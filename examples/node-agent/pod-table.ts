import type { PodInspection, PodStatus, StatusManager } from 'kubelet-status-manager';
import type { SeenPod, PodHistory } from './pod-history.ts';
import { isDeletionRequested, podName, summarizePod, uidOnNode } from './pods.ts';
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
    pod: podName(pod),
    phase: isGone ? 'Deleted' : phase,
    ready: isGone ? '' : `${readyContainers}/${totalContainers}`,
    restarts: isGone ? '' : String(restarts),
    versions: inspection ? `${inspection.version}/${inspection.sentVersion ?? '-'}` : '',
    unsent: inspection?.unsentForMs === undefined ? '' : `${(inspection.unsentForMs / 1000).toFixed(1)}s`,
    reason: isGone ? '' : isDeletionRequested(pod) ? 'Terminating' : (inspection?.lastError ?? reason),
  };
}
