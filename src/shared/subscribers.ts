import { CriticalSection } from './critical-section.ts';
import { tryCall } from './guarded.ts';
import { type Logger, thrownFields } from './logger.ts';

type Notification<Listener> = (listener: Listener) => unknown;

/** The listeners of one manager or informer. All of them get all notifications in the same order. */
export class Subscribers<Listener extends object> {
  readonly #subscriptions = new Set<{ readonly listener: Listener }>();
  readonly #logger: Logger;
  readonly #section: CriticalSection;
  /** Not delivered to all listeners yet: a listener may cause the next one while others wait for this one. */
  #undelivered: Notification<Listener>[] = [];

  /**
   * @param logger a guarded one (`resolveLogger`)
   * @param section listeners are called at the end of this section while it runs
   */
  constructor(logger: Logger, section = new CriticalSection()) {
    this.#logger = logger;
    this.#section = section;
  }

  get isEmpty(): boolean {
    return this.#subscriptions.size === 0;
  }

  /** @returns unsubscribes; idempotent */
  add(listener: Listener): () => void {
    const subscription = { listener };
    this.#subscriptions.add(subscription);
    return () => void this.#subscriptions.delete(subscription);
  }

  /** Calls `notification` with each listener. What a listener throws is logged. */
  notify(notification: Notification<Listener>): void {
    this.#section.delay(() => this.#deliver(notification));
  }

  #deliver(notification: Notification<Listener>): void {
    if (this.#undelivered.push(notification) > 1) return;
    try {
      for (const next of this.#undelivered) {
        for (const { listener } of [...this.#subscriptions]) {
          tryCall(
            () => next(listener),
            (thrown) => this.#logger.error(thrownFields(thrown), 'A listener threw'),
          );
        }
      }
    } finally {
      this.#undelivered = [];
    }
  }
}
