import type { Clock, Timer } from '../../shared/clock.ts';
import { APIStatusError, expired } from '../api-status.ts';
import type { ServerResponse } from '../http/exchange.ts';
import { type StorageListOptions, revisionOf } from './list.ts';
import { type StoredObject, withResourceVersion } from './objects.ts';
import { groupVersionOf, type ResourceDefinition } from '../resources/resources.ts';
import type { ObjectStore, WriteRecord } from './store.ts';

const bookmarkPeriodMs = 60_000;
/** The last bookmark is sent this long before the timeout. */
const lastBookmarkMs = 2000;
/** Without `timeoutSeconds` a real server chooses between 30 and 60 minutes. */
const defaultTimeoutSeconds = 1800;
/** Limit of unread bytes per client, not counting the initial events. */
const maxUnreadBytes = 16 * 1024 * 1024;

export interface WatchRequest {
  readonly definition: ResourceDefinition;
  readonly namespace: string;
  readonly options: StorageListOptions;
  /** The JSON of an object in an event: the object, or a Table whose columns only the first event has. */
  readonly render: (object: StoredObject, isFirst: boolean) => string;
}

/**
 * Streams one watch into an HTTP response until it times out, the client disconnects or the server
 * closes. Owns two timers and one subscription, which `stop` releases.
 */
export class Watch {
  readonly #response: ServerResponse;
  readonly #request: WatchRequest;
  readonly #store: ObjectStore;
  readonly #clock: Clock;
  #unsubscribe: () => void = () => {};
  #timeout: Timer | undefined;
  #bookmark: Timer | undefined;
  #endMs = 0;
  #hasSentObject = false;
  #isStopped = false;
  /** Unlimited while initial or past events are sent, because the store bounds them. */
  #unreadLimitBytes = Infinity;

  constructor(response: ServerResponse, request: WatchRequest, store: ObjectStore, clock: Clock) {
    this.#response = response;
    this.#request = request;
    this.#store = store;
    this.#clock = clock;
  }

  /** Synchronous up to the subscription, so that no write is missed between the initial state and the first event. */
  start(): void {
    const { options, definition } = this.#request;
    this.#response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-cache, private' });
    this.#response.flushHeaders();
    this.#response.on('close', () => this.stop());
    if (!this.#replay()) return;
    this.#unreadLimitBytes = this.#response.writableLength + maxUnreadBytes;
    this.#unsubscribe = this.#store.subscribe(definition.resource, (record) => this.#onWrite(record), options.indexKey);
    const seconds = options.timeoutSeconds ?? 0;
    const timeoutMs = (seconds > 0 ? seconds : defaultTimeoutSeconds) * 1000;
    this.#endMs = this.#clock.monotonicMs() + timeoutMs;
    this.#timeout = this.#clock.afterFunc(timeoutMs, () => this.stop());
    if (options.allowWatchBookmarks) this.#scheduleBookmark();
  }

  /** Ends the response. */
  stop(): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#unsubscribe();
    this.#timeout?.stop();
    this.#bookmark?.stop();
    this.#response.end();
  }

  /** Ends the connection of a client that does not read, as a real server does. */
  #cutOff(): void {
    this.stop();
    this.#response.destroy();
  }

  /** Sends the events since the client's resourceVersion; false if that has expired. */
  #replay(): boolean {
    const { options } = this.#request;
    const { resourceVersion, sendInitialEvents } = options;
    const wantsState = sendInitialEvents ?? (resourceVersion === '' || resourceVersion === '0');
    if (wantsState) {
      this.#sendState();
      if (options.allowWatchBookmarks) this.#sendBookmark({ 'k8s.io/initial-events-end': 'true' });
      return true;
    }
    if (resourceVersion === '' || resourceVersion === '0') return true;
    const revision = revisionOf(resourceVersion);
    if (revision < this.#store.forgottenRevision) {
      const message = `too old resource version: ${revision} (${this.#store.forgottenRevision})`;
      this.#send('ERROR', JSON.stringify(expired(message).body()));
      this.stop();
      return false;
    }
    for (const record of this.#store.writesSince(revision)) {
      if (record.resource === this.#request.definition.resource) this.#onWrite(record);
    }
    return true;
  }

  #sendState(): void {
    const { definition, namespace, options } = this.#request;
    for (const object of this.#store.list(definition.resource, namespace, options.selector, options.indexKey)) {
      this.#sendObject('ADDED', object);
    }
  }

  #onWrite({ type, object, previous }: WriteRecord): void {
    const { namespace, options } = this.#request;
    if (namespace !== '' && object.metadata.namespace !== namespace) return;
    const isSelected = type !== 'DELETED' && options.selector(object);
    const wasSelected = previous !== undefined && options.selector(previous);
    if (isSelected) this.#sendObject(wasSelected ? 'MODIFIED' : 'ADDED', object);
    else if (wasSelected) {
      // DELETED of an object that leaves the selection has its old state and the new resourceVersion.
      const last = type === 'DELETED' ? object : withResourceVersion(previous, object.metadata.resourceVersion);
      this.#sendObject('DELETED', last);
    }
  }

  #scheduleBookmark(): void {
    const untilLastMs = this.#endMs - this.#clock.monotonicMs() - lastBookmarkMs;
    if (untilLastMs <= 0) return;
    this.#bookmark = this.#clock.afterFunc(Math.min(bookmarkPeriodMs, untilLastMs), () => {
      this.#sendBookmark();
      this.#scheduleBookmark();
    });
  }

  #sendBookmark(annotations?: { readonly [name: string]: string }): void {
    const { definition } = this.#request;
    const metadata = {
      resourceVersion: String(this.#store.revision),
      ...(annotations === undefined ? {} : { annotations }),
    };
    const bookmark = { kind: definition.kind, apiVersion: groupVersionOf(definition), metadata };
    this.#send('BOOKMARK', JSON.stringify(bookmark));
  }

  #sendObject(type: string, object: StoredObject): void {
    this.#send(type, this.#request.render(object, !this.#hasSentObject));
    this.#hasSentObject = true;
  }

  #send(type: string, object: string): void {
    if (this.#isStopped) return;
    this.#response.write(`{"type":"${type}","object":${object}}\n`);
    if (this.#response.writableLength > this.#unreadLimitBytes) this.#cutOff();
  }
}

/** @throws APIStatusError 500 for an invalid resourceVersion, as a real watch does */
export function refuseBadResourceVersion(resourceVersion: string): void {
  if (resourceVersion === '' || /^\d{1,15}$/.test(resourceVersion)) return;
  throw new APIStatusError(500, '', `resourceVersion: Invalid value: ${JSON.stringify(resourceVersion)}`);
}
