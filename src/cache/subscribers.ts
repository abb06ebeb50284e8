import { type Logger, thrownFields } from '../logger.ts';
import type { Pod, PodStatus } from '../types.ts';

/**
 * Told of every accepted status change, in order of subscription, right after the change. What it
 * is given is frozen. A listener that throws is logged and harms nobody.
 * Source: kubelet `PodUpdateNotifier`.
 */
export interface PodStatusListener {
  /**
   * @param pod the pod with its new status
   * @param isAdded the pod had no cached status before and is not being deleted
   */
  onPodUpdated?(pod: Pod, status: PodStatus, isAdded: boolean): void;
  /** An update was accepted of a pod whose containers have all stopped for good. */
  onPodRemoved?(pod: Pod): void;
}

/** The listeners of one manager. */
export class Subscribers<Listener extends object> {
  readonly #listeners = new Set<{ readonly listener: Listener }>();
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  get isEmpty(): boolean {
    return this.#listeners.size === 0;
  }

  /** @returns ends the subscription; calling it again does nothing */
  add(listener: Listener): () => void {
    const subscription = { listener };
    this.#listeners.add(subscription);
    return () => void this.#listeners.delete(subscription);
  }

  notify(call: (listener: Listener) => void): void {
    for (const { listener } of [...this.#listeners]) {
      try {
        call(listener);
      } catch (error) {
        this.#logger.error(thrownFields(error), 'A listener threw');
      }
    }
  }
}
