import type { PodCondition, PodStatus } from '../index.ts';
import type { TimelineEntry, Timelines } from './timeline.ts';

/** `pods/UID.json`: more about one pod than its row has. */
export interface PodDocument {
  readonly podUID: string;
  /** The conditions of the cached status; empty when the pod has none. */
  readonly conditions: readonly PodCondition[];
  /** What happened since the page was created, newest first; at most `timelineLength` entries. */
  readonly timeline: readonly TimelineEntry[];
}

/** Undefined for a pod that neither the cache nor the timelines have. */
export function podDocument(
  podUID: string,
  status: PodStatus | undefined,
  timelines: Timelines,
): PodDocument | undefined {
  const entries = timelines.entriesOf(podUID);
  if (status === undefined && entries === undefined) return undefined;
  return { podUID, conditions: status?.conditions ?? [], timeline: entries?.toReversed() ?? [] };
}
