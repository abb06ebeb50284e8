import { setMaxListeners } from 'node:events';
import type { RuntimeEvent, RuntimeEventType, NodeContext } from '../node/index.ts';
import { sleep, type Timer } from '../shared/clock.ts';
import { withDeadline } from '../shared/deadline.ts';
import { FailureLog } from '../shared/failure-log.ts';
import { type CRIError, hasCode } from './cri-error.ts';
import type { CRIConnection, CRIStream, StreamListener } from './cri-connection.ts';
import type { CRIMessage } from './cri-messages.ts';
import { createCodecs } from './message-codec.ts';

const reconnectMs = 1000;
/** Interval of the attempts while the runtime has no events. */
const reconnectWithoutEventsMs = 10_000;
/** Longer than a restart of the runtime takes. */
const logAfterMs = 10_000;
/** Interval and duration of the polls until the CRI shows an exit; after that, the agent's relist finds it. */
const exitPollMs = 25;
const exitTimeoutMs = 10_000;

const typeOfEvent: Readonly<Record<CRIMessage<'ContainerEventResponse'>['container_event_type'], RuntimeEventType>> = {
  CONTAINER_CREATED_EVENT: 'created',
  CONTAINER_STARTED_EVENT: 'started',
  CONTAINER_STOPPED_EVENT: 'stopped',
  CONTAINER_DELETED_EVENT: 'deleted',
};

/** The pod of a container or sandbox. */
export interface EventOwner {
  readonly podUID: string;
  readonly isSandbox: boolean;
}

export interface RuntimeEventsOptions extends Pick<NodeContext, 'clock' | 'logger'> {
  readonly client: CRIConnection;
  /** Undefined for a container or sandbox that is not known. */
  readonly ownerOf: (id: string) => EventOwner | undefined;
  /** Whether the event is the result of a call in progress; it is dropped then. */
  readonly isExpected: (id: string, type: RuntimeEventType) => boolean;
  /** Whether the CRI shows the container or sandbox as ended. */
  readonly hasEnded: (id: string, signal: AbortSignal) => Promise<boolean>;
  readonly onEvent: (id: string, event: Omit<RuntimeEvent, 'containerID'> & EventOwner) => void;
  /** Called with true at each event of a stream, even one that `onEvent` is not called for, and with false when the stream ends. */
  readonly onComplete: (areComplete: boolean) => void;
}

/**
 * Events of the runtime: CRI events, or containerd's own where it has no CRI events. The stream is reopened when it
 * ends; in the meantime the agent's relist finds the changes. A stream counts as complete from its first event on,
 * because only that proves that the runtime sends any; each event asks for one more relist, because the runtime may show
 * a change later than it sends the event.
 */
export class RuntimeEvents {
  readonly #options: RuntimeEventsOptions;
  readonly #failures: FailureLog;
  #hasCRIEvents = true;
  #stream: CRIStream | undefined;
  #timer: Timer | undefined;
  readonly #stop = new AbortController();

  constructor(options: RuntimeEventsOptions) {
    this.#options = options;
    const { logger, clock } = options;
    this.#failures = new FailureLog({ logger, clock, what: 'Watching events of the runtime' });
    // Any number of containers may end at the same time.
    setMaxListeners(0, this.#stop.signal);
    this.#connect();
  }

  stop(): void {
    this.#stop.abort();
    this.#timer?.stop();
    this.#stream?.cancel();
  }

  #connect(): void {
    if (this.#stop.signal.aborted) return;
    if (this.#hasCRIEvents) this.#connectToCRI();
    else this.#connectToContainerd();
  }

  #connectToCRI(): void {
    this.#watch((listener) =>
      this.#options.client.containerEvents({
        ...listener,
        onMessage: (event) => {
          const { container_id: id, container_event_type: eventType, pod_sandbox_status: sandbox } = event;
          const type = typeOfEvent[eventType];
          const podUID = sandbox?.metadata?.uid;
          const owner = podUID === undefined ? undefined : { podUID, isSandbox: id === sandbox?.id };
          if (!this.#options.isExpected(id, type)) this.#emit(id, type, owner);
          listener.onMessage();
        },
      }),
    );
  }

  #connectToContainerd(): void {
    this.#watch((listener) =>
      subscribeToContainerd(this.#options.client, {
        ...listener,
        onMessage: (event) => {
          const isNew = event !== undefined && !this.#options.isExpected(event.id, event.type);
          if (isNew && event.type === 'stopped') void this.#emitWhenEnded(event);
          else if (isNew) this.#emit(event.id, event.type);
          listener.onMessage();
        },
      }),
    );
  }

  #watch(open: (listener: StreamListener<void>) => CRIStream): void {
    let isComplete = false;
    // On an idle node no event comes for hours: a connected stream that stays open has also recovered.
    const checkConnection = (): void => {
      if (this.#options.client.isConnected) this.#failures.succeeded();
      else this.#timer = this.#options.clock.afterFunc(reconnectMs, checkConnection);
    };
    this.#timer = this.#options.clock.afterFunc(logAfterMs, checkConnection);
    this.#stream = open({
      onMessage: () => {
        this.#failures.succeeded();
        if (this.#stop.signal.aborted) return;
        isComplete = true;
        this.#options.onComplete(true);
      },
      onEnd: (error) => {
        if (this.#stop.signal.aborted) return;
        this.#timer?.stop();
        if (isComplete) this.#options.onComplete(false);
        const delayMs = this.#delayAfterEnd(error, isComplete);
        this.#timer = this.#options.clock.afterFunc(delayMs, () => this.#connect());
      },
    });
  }

  /** Logs why a stream ended; returns when to open the next one. */
  #delayAfterEnd(error: CRIError | undefined, hasSentEvents: boolean): number {
    if (this.#hasCRIEvents && hasCode(error, 'Unimplemented')) {
      this.#hasCRIEvents = false;
      return 0;
    }
    // CRI-O with enable_pod_events = false, its default, ends each stream immediately.
    if (error === undefined && !hasSentEvents) {
      this.#failures.succeeded();
      return reconnectWithoutEventsMs;
    }
    this.#failures.failed(error ?? new Error('The stream ended'), {}, { afterMs: logAfterMs });
    return reconnectMs;
  }

  /** containerd sends its event before its CRI shows the exit. */
  async #emitWhenEnded({ id, type }: ContainerdEvent): Promise<void> {
    const { clock, hasEnded } = this.#options;
    await withDeadline(clock, exitTimeoutMs, this.#stop.signal, async ({ signal }) => {
      while (!signal.aborted) {
        try {
          if (await hasEnded(id, signal)) return;
        } catch (error) {
          if (hasCode(error, 'NotFound')) return;
        }
        await sleep(clock, exitPollMs, signal);
      }
    });
    this.#emit(id, type);
  }

  #emit(id: string, type: RuntimeEventType, owner = this.#options.ownerOf(id)): void {
    if (owner === undefined || this.#stop.signal.aborted) return;
    this.#options.onEvent(id, { type, ...owner });
  }
}

/*
 * The events API of containerd, on its CRI socket: containerd 1.6 has no CRI events. Source: containerd
 * `api/services/events/v1`, `api/events`.
 */

const codecs = (): ReturnType<typeof createCodecs<'SubscribeRequest' | 'Envelope' | 'Any' | 'IDs'>> =>
  createCodecs({
    SubscribeRequest: { filters: [1, 'repeated string'] },
    Envelope: { namespace: [2, 'string'], topic: [3, 'string'], event: [4, 'Any'] },
    Any: { type_url: [1, 'string'], value: [2, 'bytes'] },
    // The fields that the events below share: a task's container, and the process of it that has ended.
    IDs: { container_id: [1, 'string'], id: [2, 'string'] },
  });

const typeOfTopic: Readonly<Record<string, RuntimeEventType>> = {
  '/tasks/start': 'started',
  '/tasks/exit': 'stopped',
  '/containers/create': 'created',
  '/containers/delete': 'deleted',
};

interface Envelope {
  readonly topic: string;
  readonly event: { readonly value: Uint8Array } | null;
}

/** What happened to a container or sandbox. */
interface ContainerdEvent {
  readonly type: RuntimeEventType;
  readonly id: string;
}

/** Undefined for messages that are not about a container. */
export function subscribeToContainerd(
  client: Pick<CRIConnection, 'stream'>,
  { onMessage, onEnd }: StreamListener<ContainerdEvent | undefined>,
): CRIStream {
  const { SubscribeRequest, Envelope, IDs } = codecs();
  const topics = Object.keys(typeOfTopic)
    .map((topic) => `topic=="${topic}"`)
    .map((topic) => `namespace==k8s.io,${topic}`);
  const toEvent = ({ topic, event }: Envelope): ContainerdEvent | undefined => {
    const type = typeOfTopic[topic];
    if (type === undefined || event === null) return undefined;
    let ids: object;
    try {
      ids = IDs.decode(event.value);
    } catch {
      // Thrown in a listener of the stream, it would end the process.
      return undefined;
    }
    const { container_id: containerID, id } = ids as { container_id: string; id: string };
    // A process of `exec` has an ID of its own.
    const isExec = topic === '/tasks/exit' && id !== '' && id !== containerID;
    return isExec ? undefined : { type, id: containerID };
  };
  return client.stream<Envelope>(
    {
      path: '/containerd.services.events.v1.Events/Subscribe',
      request: { filters: topics },
      requestCodec: SubscribeRequest,
      responseCodec: Envelope,
      headers: { 'containerd-namespace': 'k8s.io' },
    },
    { onMessage: (envelope) => onMessage(toEvent(envelope)), onEnd },
  );
}
