import type { PodManager } from '../pods/pod-manager.ts';
import type { OutcomeSubject } from './outcomes.ts';

/**
 * Pods whose DELETE the API server has accepted while finalizers keep the object. Only the pod
 * manager can tell when such an object is gone, so nothing is noted of a pod that it does not show.
 */
export class RequestedDeletions {
  readonly #subjects = new Map<string, OutcomeSubject>();
  readonly #podManager: PodManager;

  constructor(podManager: PodManager) {
    this.#podManager = podManager;
  }

  add(subject: OutcomeSubject): void {
    if (this.#podManager.getPodByUID(subject.podUID) !== undefined) this.#subjects.set(subject.podUID, subject);
  }

  /** Hands out, once, those whose pods the pod manager no longer shows. */
  takeGone(): OutcomeSubject[] {
    const gone = [...this.#subjects.values()].filter(
      ({ podUID }) => this.#podManager.getPodByUID(podUID) === undefined,
    );
    for (const { podUID } of gone) this.#subjects.delete(podUID);
    return gone;
  }
}
