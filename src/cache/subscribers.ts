import { type Logger, thrownFields } from '../logger.ts';
import { callSafely } from '../unfailing.ts';
import type { Pod, PodStatus } from '../types.ts';

/**
 * Told of every accepted status change, in order of subscription, right after the change. What it
 * is given is frozen. A listener that throws, or whose promise rejects, is logged; nothing else is affected.
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
  /** What is still to be told: a listener may cause the next news before others have heard this one. */
  #news: ((listener: Listener) => unknown)[] = [];

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

  /** All listeners hear all news in the same order. */
  notify(news: (listener: Listener) => unknown): void {
    if (this.#news.push(news) > 1) return;
    for (const tell of this.#news) {
      for (const { listener } of [...this.#listeners]) {
        callSafely(
          () => tell(listener),
          (thrown) => this.#logger.error(thrownFields(thrown), 'A listener threw'),
        );
      }
    }
    this.#news = [];
  }
}
