import type { RuntimeEvent, RuntimeEventType } from '../agent/runtime/container-runtime.ts';
import type { Clock, Timer } from '../shared/clock.ts';
import { FailureLog } from '../shared/failure-log.ts';
import type { Logger } from '../shared/logger.ts';
import { type ContainerdEvent, subscribeToContainerd } from './containerd-events.ts';
import { type CRIClient, hasCode } from './cri-client.ts';
import type { CRIMessage } from './cri-messages.ts';

const reconnectMs = 1000;
/** A restart of the runtime is over sooner. */
const logAfterMs = 10_000;
/** Interval and number of polls until the CRI shows an exit. */
const exitPollMs = 25;
const exitPolls = 40;

const typeOfEvent: Readonly<Record<CRIMessage<'ContainerEventResponse'>['container_event_type'], RuntimeEventType>> = {
  CONTAINER_CREATED_EVENT: 'created',
  CONTAINER_STARTED_EVENT: 'started',
  CONTAINER_STOPPED_EVENT: 'stopped',
  CONTAINER_DELETED_EVENT: 'deleted',
};

export interface RuntimeEventsOptions {
  readonly client: CRIClient;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The pod of a container or sandbox, and whether it is a sandbox; undefined for one that is not known. */
  readonly ownerOf: (id: string) => { readonly podUID: string; readonly isSandbox: boolean } | undefined;
  /** Whether the CRI shows the container or sandbox as ended. */
  readonly hasEnded: (id: string) => Promise<boolean>;
  readonly onEvent: (id: string, event: Omit<RuntimeEvent, 'containerID'> & { readonly isSandbox: boolean }) => void;
}

/**
 * Events of the runtime: CRI events, or containerd's own where it has no CRI events. The stream is reopened when it
 * ends; in the meantime the agent's relist finds the changes.
 */
export class RuntimeEvents {
  readonly #options: RuntimeEventsOptions;
  readonly #failures: FailureLog;
  #hasCRIEvents = true;
  #stream: { cancel(): void } | undefined;
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(options: RuntimeEventsOptions) {
    this.#options = options;
    const { logger, clock } = options;
    this.#failures = new FailureLog({ logger, clock, what: 'Watching events of the runtime', afterMs: logAfterMs });
    this.#connect();
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.stop();
    this.#stream?.cancel();
  }

  #connect(): void {
    if (this.#isStopped) return;
    if (this.#hasCRIEvents) this.#connectToCRI();
    else this.#connectToContainerd();
  }

  #connectToCRI(): void {
    const stream = this.#options.client.getContainerEvents();
    stream.on('data', (event: CRIMessage<'ContainerEventResponse'>) => {
      const podUID = event.pod_sandbox_status?.metadata?.uid;
      this.#emit(event.container_id, typeOfEvent[event.container_event_type], podUID);
    });
    this.#watch(stream);
  }

  #connectToContainerd(): void {
    const { stream, toEvent } = subscribeToContainerd(this.#options.client);
    stream.on('data', (envelope: Parameters<typeof toEvent>[0]) => {
      const event = toEvent(envelope);
      if (event?.type === 'stopped') void this.#emitWhenEnded(event);
      else if (event !== undefined) this.#emit(event.id, event.type);
    });
    this.#watch(stream);
  }

  #watch(stream: { cancel(): void; on(event: string, listener: (error: Error) => void): unknown }): void {
    this.#stream = stream;
    stream.on('data', () => this.#failures.succeeded());
    let hasEnded = false;
    const onEnd = (error?: Error & { readonly code?: number }): void => {
      if (hasEnded || this.#isStopped) return;
      hasEnded = true;
      const isUnimplemented = error !== undefined && this.#hasCRIEvents && error.code === unimplemented;
      if (isUnimplemented) this.#hasCRIEvents = false;
      else this.#failures.failed(error ?? new Error('The stream ended'));
      this.#timer = this.#options.clock.afterFunc(isUnimplemented ? 0 : reconnectMs, () => this.#connect());
    };
    stream.on('error', onEnd);
    stream.on('end', onEnd);
  }

  /** containerd sends its event before its CRI shows the exit. */
  async #emitWhenEnded({ id, type }: ContainerdEvent): Promise<void> {
    for (let i = 0; i < exitPolls && !this.#isStopped; i++) {
      try {
        if (await this.#options.hasEnded(id)) break;
      } catch (error) {
        if (hasCode(error, 'NotFound')) break;
      }
      await new Promise<void>((resolve) => void this.#options.clock.afterFunc(exitPollMs, resolve));
    }
    this.#emit(id, type);
  }

  #emit(id: string, type: RuntimeEventType, podUID?: string): void {
    const owner = this.#options.ownerOf(id);
    const uid = podUID ?? owner?.podUID;
    if (uid === undefined || this.#isStopped) return;
    this.#options.onEvent(id, { type, podUID: uid, isSandbox: owner?.isSandbox ?? false });
  }
}

/** gRPC's code `UNIMPLEMENTED`. */
const unimplemented = 12;
