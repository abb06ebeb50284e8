import { type Logger, thrownFields } from './logger.ts';
import { tryCall } from './guarded.ts';

/** The listeners of one manager. */
export class Subscribers<Listener extends object> {
  readonly #listeners = new Set<{ readonly listener: Listener }>();
  readonly #logger: Logger;
  /** What is still to be told: a listener may cause the next news before others have heard this one. */
  #news: ((listener: Listener) => unknown)[] = [];

  /** @param logger a guarded one (`resolveLogger`) */
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
    try {
      for (const tell of this.#news) {
        for (const { listener } of [...this.#listeners]) {
          tryCall(
            () => tell(listener),
            (thrown) => this.#logger.error(thrownFields(thrown), 'A listener threw'),
          );
        }
      }
    } finally {
      this.#news = [];
    }
  }
}
