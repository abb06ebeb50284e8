import { AsyncLocalStorage } from 'node:async_hooks';
import { channel, tracingChannel } from 'node:diagnostics_channel';
import type { RequestVerb } from '../kube/client/pod-client.ts';
import { CriticalSection } from '../shared/critical-section.ts';
import type { SyncResult } from './sync/sync-result.ts';

/**
 * Names of the channels of `node:diagnostics_channel`; docs/guides/production.md lists them.
 *
 * @example
 * ```ts
 * import { subscribe } from 'node:diagnostics_channel';
 * import { type AcceptedMessage, tracingChannelNames } from 'kubelet-status-manager';
 *
 * subscribe(tracingChannelNames.accepted, (message) => {
 *   const { podNamespace, podName, version } = message as AcceptedMessage;
 *   console.log(`${podNamespace}/${podName} has version ${version}`);
 * });
 * ```
 */
export const tracingChannelNames = {
  /** A channel for `AcceptedMessage`, published in the async context of the setter's caller. */
  accepted: 'kubelet-status-manager:accepted',
  /** A tracing channel for `SyncMessage`. */
  sync: 'kubelet-status-manager:sync',
  /** A tracing channel for `RequestMessage`. */
  request: 'kubelet-status-manager:request',
} as const;

/**
 * A setter stored a new version. A subscriber may add fields of its own, for example the caller's
 * trace context: the same object appears in `accepted` of the sync that sends the version.
 */
export interface AcceptedMessage {
  /** UID of the pod; for a static pod, its own and not its mirror pod's. */
  readonly podUID: string;
  /** Namespace of the pod. */
  readonly podNamespace: string;
  /** Name of the pod. */
  readonly podName: string;
  /** The new version. */
  readonly version: number;
}

/** One sync of one pod: its GET, PATCH and DELETE. A subscriber may add fields of its own, for example its span. */
export interface SyncMessage {
  /** UID of the pod; for a static pod, its own and not its mirror pod's. */
  readonly podUID: string;
  /**
   * The unsent changes, oldest first; at the end of a successful sync, the changes it sent. Above 32
   * changes, only the oldest and the newest 31. Empty if no change caused the sync.
   */
  accepted: readonly AcceptedMessage[];
  /** Set at the end: the version sent; undefined if none was. */
  version: number | undefined;
  /** Set at the end. `gone`: the status was dropped. */
  outcome: 'written' | 'unchanged' | 'failed' | 'gone' | undefined;
}

/** One request. On failure the tracing channel's `error` is an `APIError`, safe to log. */
export interface RequestMessage {
  /** Which request. */
  readonly verb: RequestVerb;
  /** Namespace of the pod. */
  readonly podNamespace: string;
  /** Name of the pod. */
  readonly podName: string;
  /** The sync that sends this request; undefined if the channel had no subscriber when the sync began. */
  readonly sync: SyncMessage | undefined;
}

const maxAccepted = 32;

/**
 * Publishes the activity of one manager, so that a trace can follow a change to the API server.
 * Without subscribers, the only cost is a check of `hasSubscribers`.
 */
export class Tracing {
  readonly #accepted = channel(tracingChannelNames.accepted);
  readonly #sync = tracingChannel<string, SyncMessage>(tracingChannelNames.sync);
  readonly #request = tracingChannel<string, RequestMessage>(tracingChannelNames.request);
  readonly #currentSync = new AsyncLocalStorage<SyncMessage>();
  readonly #section: CriticalSection;
  /** Pod UID → unsent changes that were published, oldest first. */
  readonly #unsent = new Map<string, AcceptedMessage[]>();

  constructor(section = new CriticalSection()) {
    this.#section = section;
  }

  accepted(podUID: string, { podNamespace, podName, version }: Omit<AcceptedMessage, 'podUID'>): void {
    if (!this.#accepted.hasSubscribers) return;
    const message: AcceptedMessage = { podUID, podNamespace, podName, version };
    this.#section.delay(() => this.#accepted.publish(message));
    const unsent = this.#unsent.get(podUID) ?? [];
    if (unsent.length === maxAccepted) unsent.splice(1, 1);
    unsent.push(message);
    this.#unsent.set(podUID, unsent);
  }

  /** Call it when the pod's status was dropped. */
  dropped(podUID: string): void {
    this.#unsent.delete(podUID);
  }

  /** Runs a sync, which reports its result through `onSynced`. */
  sync<T>(podUID: string, sync: (onSynced: (result: SyncResult) => void) => Promise<T>): Promise<T> {
    if (!hasSubscribers(this.#sync) && !hasSubscribers(this.#request)) {
      return sync((result) => this.#takeSent(podUID, sentVersionOf(result)));
    }
    const message: SyncMessage = {
      podUID,
      accepted: [...(this.#unsent.get(podUID) ?? [])],
      version: undefined,
      outcome: undefined,
    };
    const onSynced = (result: SyncResult): void => {
      const version = sentVersionOf(result);
      const sent = this.#takeSent(podUID, version);
      if (version !== undefined) message.accepted = sent;
      message.version = version;
      message.outcome = result.kind;
    };
    return this.#currentSync.run(message, () => this.#sync.tracePromise(() => sync(onSynced), message));
  }

  request<T>(
    verb: RequestVerb,
    { namespace, name }: { readonly namespace: string; readonly name: string },
    request: () => Promise<T>,
  ): Promise<T> {
    if (!hasSubscribers(this.#request)) return request();
    const sync = this.#currentSync.getStore();
    return this.#request.tracePromise(request, { verb, podNamespace: namespace, podName: name, sync });
  }

  /** Removes and returns the changes up to `version`. */
  #takeSent(podUID: string, version: number | undefined): AcceptedMessage[] {
    const unsent = this.#unsent.get(podUID);
    if (unsent === undefined || version === undefined) return [];
    const rest = unsent.filter((message) => message.version > version);
    if (rest.length === 0) this.#unsent.delete(podUID);
    else this.#unsent.set(podUID, rest);
    return unsent.filter((message) => message.version <= version);
  }
}

function sentVersionOf(result: SyncResult): number | undefined {
  return result.kind === 'written' || result.kind === 'unchanged' ? result.versioned.version : undefined;
}

/** `TracingChannel.hasSubscribers` came with Node.js 20.13 and is not in all types. */
function hasSubscribers({ start, asyncEnd, error, end, asyncStart }: ReturnType<typeof tracingChannel>): boolean {
  return (
    start.hasSubscribers ||
    end.hasSubscribers ||
    asyncStart.hasSubscribers ||
    asyncEnd.hasSubscribers ||
    error.hasSubscribers
  );
}
