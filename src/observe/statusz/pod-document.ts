import type { PodCondition, PodStatus } from '../../kube/objects/types.ts';
import type { PodExplanation } from '../../status-manager/explain/explanation.ts';
import type { PodRow } from './status-document.ts';
import type { TimelineEntry, Timelines } from './timeline.ts';

/** `pods/UID.json`: the details of one pod. */
export interface PodDocument {
  /** The result of `explain()`. */
  readonly explanation: PodExplanation;
  /** Its row of `pods.json`, read together with the explanation; absent if it has none. */
  readonly pod?: PodRow | undefined;
  /** Conditions of the cached status; empty if there is none. */
  readonly conditions: readonly PodCondition[];
  /** What happened since the page was created, newest first; at most `timelineLength` entries. */
  readonly timeline: readonly TimelineEntry[];
}

/** Undefined for a pod that neither the manager nor the timelines know. */
export function podDocument(
  explanation: PodExplanation,
  pod: PodRow | undefined,
  status: PodStatus | undefined,
  timelines: Timelines,
): PodDocument | undefined {
  const entries = timelines.entriesOf(explanation.podUID);
  if (explanation.cause.kind === 'unknown-pod' && entries === undefined) return undefined;
  return { explanation, pod, conditions: status?.conditions ?? [], timeline: entries?.toReversed() ?? [] };
}
