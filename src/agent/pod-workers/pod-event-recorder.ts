import type { PodEvent } from '../events/event-recorder.ts';

/** Hears of events of pods; must not throw. An `EventRecorder` is one. */
export interface PodEventRecorder {
  /** Records one Event about a pod. Does not throw and does not wait. */
  event(event: PodEvent): void;
}

export const noPodEvents: PodEventRecorder = { event: () => {} };
