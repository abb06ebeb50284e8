import type { PodEvent } from '../events/event-recorder.ts';

/** Hears of events of pods; must not throw. An `EventRecorder` is one. */
export interface PodEventRecorder {
  event(event: PodEvent): void;
}

export const noPodEvents: PodEventRecorder = { event: () => {} };
