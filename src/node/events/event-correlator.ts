import { LRUCache } from '../../shared/lru-cache.ts';
import { TokenBucket } from '../../shared/token-bucket.ts';
import type { Clock } from '../../shared/clock.ts';
import { timeFromEpochMs } from '../../shared/time.ts';
import { aggregateKey, eventKey, type KubeEvent, type KubeEventPatch, spamKey } from './kube-event.ts';

const maxEntries = 4096;
const aggregateMaxEvents = 10;
const aggregateIntervalMs = 600_000;
const spamBurst = 25;
const spamRefillMs = 300_000;

/** What to send for an event. Source: client-go `EventCorrelateResult`. */
export interface CorrelatedEvent {
  readonly event: KubeEvent;
  /** Set when the Event already exists. */
  readonly patch?: KubeEventPatch | undefined;
}

interface Observation {
  readonly count: number;
  readonly firstTimestamp: string | null;
  readonly name: string;
}

/**
 * Protects users and the API server from floods of events. A repeated event increments a count. After
 * ten different messages of one reason within ten minutes, further ones become one aggregated event.
 * Each object may have a burst of 25 events, and one more every five minutes. Source: client-go `EventCorrelator`.
 */
export class EventCorrelator {
  readonly #clock: Clock;
  readonly #newName: (objectName: string) => string;
  readonly #similar = new LRUCache<{ readonly messages: Set<string>; lastMs: number }>(maxEntries);
  readonly #observed = new LRUCache<Observation>(maxEntries);
  readonly #tokens = new LRUCache<TokenBucket>(maxEntries);

  /** @param newName returns a name for a new Event about the object of this name */
  constructor(clock: Clock, newName: (objectName: string) => string) {
    this.#clock = clock;
    this.#newName = newName;
  }

  /** Undefined if the event must not be sent. */
  correlate(newEvent: KubeEvent): CorrelatedEvent | undefined {
    const { event: aggregated, key } = this.#aggregate(newEvent);
    const correlated = this.#observe(aggregated, key);
    return this.#takeToken(spamKey(correlated.event)) ? correlated : undefined;
  }

  /** Records the Event as the API server returned it. */
  updateState(event: KubeEvent): void {
    this.#remember(eventKey(event), event);
  }

  /** Source: client-go `EventAggregate`. */
  #aggregate(newEvent: KubeEvent): { event: KubeEvent; key: string } {
    const nowMs = this.#clock.monotonicMs();
    const key = aggregateKey(newEvent);
    let similar = this.#similar.get(key);
    if (similar === undefined || nowMs - similar.lastMs > aggregateIntervalMs) {
      similar = { messages: new Set(), lastMs: nowMs };
      this.#similar.set(key, similar);
    }
    similar.messages.add(newEvent.message);
    similar.lastMs = nowMs;
    if (similar.messages.size < aggregateMaxEvents) return { event: newEvent, key: eventKey(newEvent) };

    // The set must not grow further.
    similar.messages.delete(similar.messages.values().next().value!);
    const { apiVersion, kind, metadata, involvedObject, type, reason, source } = newEvent;
    const now = timeFromEpochMs(this.#clock.now());
    const event: KubeEvent = {
      apiVersion,
      kind,
      metadata: { name: this.#newName(involvedObject.name), namespace: metadata.namespace },
      involvedObject,
      reason,
      message: `(combined from similar events): ${newEvent.message}`,
      type,
      count: 1,
      firstTimestamp: now,
      lastTimestamp: now,
      source,
    };
    return { event, key };
  }

  /** Source: client-go `eventObserve`. */
  #observe(newEvent: KubeEvent, key: string): CorrelatedEvent {
    const last = this.#observed.get(key);
    if (last === undefined) {
      this.#remember(key, newEvent);
      return { event: newEvent };
    }
    const event: KubeEvent = {
      ...newEvent,
      metadata: { ...newEvent.metadata, name: last.name },
      firstTimestamp: last.firstTimestamp,
      count: last.count + 1,
    };
    this.#remember(key, event);
    const { count, lastTimestamp, message } = event;
    return { event, patch: { count, lastTimestamp, message } };
  }

  #remember(key: string, { metadata: { name }, firstTimestamp, count }: KubeEvent): void {
    this.#observed.set(key, { name, firstTimestamp, count });
  }

  /** A token bucket for each source and object. Source: client-go `EventSourceObjectSpamFilter`. */
  #takeToken(key: string): boolean {
    const tokens = this.#tokens.get(key) ?? new TokenBucket(1000 / spamRefillMs, spamBurst, this.#clock);
    this.#tokens.set(key, tokens);
    return tokens.tryTake();
  }
}
