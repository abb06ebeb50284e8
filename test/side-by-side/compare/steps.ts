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
  const events = sortParallel(
    (recording.events[pod] ?? [])
      .map((event) => mask(describeEvent(event)))
      .filter((event, index, all) => !isProbeOfEndingContainer(event, all.slice(0, index))),
  );
  return {
    statuses: statuses.filter((status, index) => index === 0 || !isSame(status, statuses[index - 1])),
    events: events.filter((event, index) => events.findIndex((other) => isSame(event, other)) === index),
  };
}

/** How often an Event was repeated follows from when the pod was deleted. */
function describeEvent({ type, reason, message, involvedObject, source, reportingComponent }: Json): Json {
  return { type, reason, message, fieldPath: involvedObject.fieldPath, source, reportingComponent };
}

/** Whether a probe comes while its container ends, and how it fails then, is chance. */
function isProbeOfEndingContainer({ reason, message, fieldPath }: Json, before: readonly Json[]): boolean {
  if (reason !== 'Unhealthy') return false;
  const isEnding = before.some((event) => event.reason === 'Killing' && event.fieldPath === fieldPath);
  return message.includes('errored and resulted in unknown state') || (isEnding && message.startsWith('Readiness'));
}

/**
 * The containers of a pod are stopped at the same time, and probes run beside everything else, so the order of
 * their Events is chance: those of probes come last here.
 */
function sortParallel(events: readonly Json[]): Json[] {
  const isKilling = ({ reason }: Json): boolean => reason === 'Killing';
  const isProbe = ({ reason }: Json): boolean => reason === 'Unhealthy';
  const killing = events.filter(isKilling).sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  const others = events.filter((event) => !isProbe(event));
  return [...others.map((event) => (isKilling(event) ? killing.shift() : event)), ...events.filter(isProbe)];
}

export function isSame(a: Json, b: Json): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
