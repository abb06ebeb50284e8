import type { Pod } from '../../index.ts';

/** Something that happened to a pod, for the user who looks at it. */
export interface PodEvent {
  readonly pod: Pod;
  /** The name of the container that it happened to. */
  readonly container?: string | undefined;
  readonly type: 'Normal' | 'Warning';
  /** In a word: `Started`, `Killing`, `BackOff`. */
  readonly reason: string;
  readonly message: string;
}

/** Hears of events; must not throw. Source: client-go `record.EventRecorder`. */
export interface PodEventRecorder {
  event(event: PodEvent): void;
}

export const noPodEvents: PodEventRecorder = { event: () => {} };
