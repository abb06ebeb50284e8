import type { PodEvent } from '../events/event-recorder.ts';

/** Records events about pods; must not throw. For example an `EventRecorder`. */
export interface PodEventRecorder {
  /** Records one Event about a pod. Does not throw and does not wait. */
  event(event: PodEvent): void;
}

export const noPodEvents: PodEventRecorder = { event: () => {} };
