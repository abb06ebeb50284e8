import type { Json } from '../../support/kube-http.ts';
import type { Recording } from '../recording.ts';
import { createMasker } from './masks.ts';

/** What a watcher saw of one pod, without what differs between any two runs. */
export interface PodSteps {
  /** Watch events; one that differs from the one before only in what is masked is left out. */
  readonly statuses: readonly Json[];
  /** The Events, each once, in the order in which they appeared. */
  readonly events: readonly Json[];
}

export function stepsOf(recording: Recording, pod: string): PodSteps {
  const mask = createMasker();
  const statuses = (recording.pods[pod] ?? []).map(({ type, object }) => ({ type, ...mask(object) }));
  const events = (recording.events[pod] ?? []).map((event) => mask(describeEvent(event)));
  return {
    statuses: statuses.filter((status, index) => index === 0 || !isSame(status, statuses[index - 1])),
    events: events.filter((event, index) => events.findIndex((other) => isSame(event, other)) === index),
  };
}

/** How often an Event was repeated follows from when the pod was deleted. */
function describeEvent({ type, reason, message, involvedObject, source, reportingComponent }: Json): Json {
  return { type, reason, message, fieldPath: involvedObject.fieldPath, source, reportingComponent };
}

export function isSame(a: Json, b: Json): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
