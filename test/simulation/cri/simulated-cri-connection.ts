import type {
  CRICallOptions,
  CRIConnection,
  CRIStream,
  RequestOf,
  ResponseOf,
  StreamCall,
  StreamListener,
} from '../../../src/cri/cri-connection.ts';
import type { CRIMethod } from '../../../src/cri/cri-messages.ts';
import { createCodecs } from '../../../src/cri/message-codec.ts';
import type { Random } from '../../chaos/random.ts';
import type { SimulatedProcess } from '../simulated-process.ts';
import type { World } from '../world.ts';
import { received } from './received.ts';
import { type CRIEvent, failure, type SimulatedCRIService } from './simulated-cri-service.ts';

/** Probabilities of what happens to a call. */
interface CRIFaults {
  readonly slow: number;
  /** The call fails without an effect. */
  readonly failed: number;
  /** The call never gets an answer, and has no effect. */
  readonly hangs: number;
  /** The call has its effect, and its answer is an error. */
  readonly failedAfter: number;
  /** The call has its effect, and its answer never comes. */
  readonly lostAnswer: number;
  /** An event arrives twice. */
  readonly duplicateEvent: number;
}

const noFaults: CRIFaults = { slow: 0, failed: 0, hangs: 0, failedAfter: 0, lostAnswer: 0, duplicateEvent: 0 };
const badService: CRIFaults = {
  ...{ slow: 0.02, failed: 0.02, hangs: 0.004, failedAfter: 0.015, lostAnswer: 0.004, duplicateEvent: 0.05 },
};

/** The events that a runtime sends: those of the CRI, those of containerd before 1.7, or none. */
export type EventsKind = 'containerd' | 'cri' | 'none';

const focusFactor = 10;
const hangingLogsFactor = 100;
/** After the end of all faults, the first rotation within this time gets no answer, where those of others did not. */
const lastHangMs = 30_000;
const tickMs = 1 / 1024;
/** The longest of a call that the service never answers: a stop with its grace period. */
const longestCallMs = 240_000;
/** A pull without progress ends in containerd. */
const pullProgressMs = 60_000;
const { IDs } = createCodecs({ IDs: { container_id: [1, 'string'], id: [2, 'string'] } });
const topicOf: Readonly<Record<CRIEvent['type'], string>> = {
  CONTAINER_CREATED_EVENT: '/containers/create',
  CONTAINER_STARTED_EVENT: '/tasks/start',
  CONTAINER_STOPPED_EVENT: '/tasks/exit',
  CONTAINER_DELETED_EVENT: '/containers/delete',
};

interface Stream {
  readonly process: SimulatedProcess;
  readonly onEvent: (event: CRIEvent) => void;
  readonly onEnd: StreamListener<never>['onEnd'];
  readonly laggingMs: number;
  isOpen: boolean;
  lastArrivalMs: number;
}

/** What is between agents and a simulated service of the CRI: latencies, lost answers, outages. */
export class SimulatedCRIEndpoint {
  readonly #world: World;
  readonly #random: Random;
  readonly #events: EventsKind;
  readonly #service: () => SimulatedCRIService;
  readonly #streams = new Set<Stream>();
  /** Ends the calls in progress. */
  readonly #calls = new Map<() => void, SimulatedProcess>();
  /** Calls that wait for the service to come back. */
  readonly #waiting = new Set<() => void>();
  #faults = noFaults;
  /** The method whose calls have many more faults. */
  #focus: CRIMethod | undefined;
  #isUp = true;
  /** How long the answers of a busy service with what it has are on their way: what is read may be out of date. */
  readonly #readMs: number;
  /** A container whose log is rotated often gives no answer. */
  readonly #hasHangingLogs: boolean;
  #lastHangUntilMs = 0;

  constructor(world: World, events: EventsKind, service: () => SimulatedCRIService) {
    this.#world = world;
    this.#random = world.random.fork('CRI endpoint');
    this.#hasHangingLogs = this.#random.fork('logs').chance(0.3);
    this.#readMs = this.#random.fork('reads').pick([2, 2, 500]);
    this.#events = events;
    this.#service = service;
  }

  /** `share` of the usual faults happen to calls from now on, and many more to those of one method. */
  disturb(share: number, focus: CRIMethod | undefined): void {
    this.#focus = focus;
    this.#faults = Object.fromEntries(
      Object.entries(badService).map(([fault, probability]) => [fault, probability * share]),
    ) as unknown as CRIFaults;
  }

  heal(): void {
    this.#faults = noFaults;
    if (this.#hasHangingLogs) this.#lastHangUntilMs = this.#world.nowMs + lastHangMs;
    this.start();
  }

  get openConnections(): number {
    return this.#streams.size;
  }

  get hasFaults(): boolean {
    return this.#faults !== noFaults || !this.#isUp;
  }

  /** Calls fail and streams end; new ones wait. */
  stop(): void {
    this.#isUp = false;
    for (const end of this.#calls.keys()) end();
    this.breakStreams();
  }

  start(): void {
    if (this.#isUp) return;
    this.#world.note('cri', 'starts');
    this.#isUp = true;
    for (const begin of this.#waiting) this.#world.at(this.#random.next() * 200, begin);
    this.#waiting.clear();
    for (const stream of this.#streams) stream.isOpen = true;
  }

  breakStreams(): void {
    for (const stream of this.#streams) {
      if (!stream.isOpen) continue;
      this.#streams.delete(stream);
      stream.process.receive(this.#random.next() * 5, () => stream.onEnd(failure('UNAVAILABLE', 'connection reset')));
    }
  }

  tell(event: CRIEvent): void {
    for (const stream of this.#streams) {
      if (!stream.isOpen) continue;
      this.#deliver(stream, event);
      if (this.#strikes('duplicateEvent')) this.#deliver(stream, event);
    }
  }

  /** What a process has open ends with it. */
  killed(process: SimulatedProcess): void {
    for (const stream of this.#streams) if (stream.process === process) this.#streams.delete(stream);
    for (const [end, of] of this.#calls) if (of === process) this.#calls.delete(end);
  }

  connect(process: SimulatedProcess): CRIConnection {
    let isClosed = false;
    const open = <Message>(
      { onEnd }: StreamListener<Message>,
      onEvent: ((event: CRIEvent) => void) | undefined,
      refused?: 'UNIMPLEMENTED',
    ): CRIStream => {
      const laggingMs = this.#random.chance(0.2) ? this.#random.next() * 2_000 : 0;
      const stream: Stream = {
        ...{ process, laggingMs, onEnd, isOpen: this.#isUp, lastArrivalMs: 0 },
        onEvent: onEvent ?? (() => {}),
      };
      if (onEvent !== undefined) this.#streams.add(stream);
      else process.receive(this.#random.next() * 5, () => onEnd(refused && failure(refused, 'not implemented')));
      return { cancel: () => void this.#streams.delete(stream) };
    };
    const isUp = (): boolean => this.#isUp;
    return {
      get isConnected() {
        return isUp();
      },
      call: (method, request, options) =>
        isClosed
          ? Promise.reject(failure('CANCELLED', 'the connection is closed'))
          : this.#call(process, method, request, options),
      containerEvents: (listener) => {
        if (this.#events !== 'cri')
          return open(listener, undefined, this.#events === 'none' ? undefined : 'UNIMPLEMENTED');
        return open(listener, ({ type, id, sandbox }) =>
          listener.onMessage({
            ...received('ContainerEventResponse', { container_id: id, container_event_type: type }),
            pod_sandbox_status: sandbox,
          }),
        );
      },
      stream: <Message extends object>(_: StreamCall, listener: StreamListener<Message>) =>
        open(listener, ({ type, id }) => {
          const event = { value: IDs.encode({ container_id: id, id }) };
          listener.onMessage({ topic: topicOf[type], event } as object as Message);
        }),
      close: () => {
        isClosed = true;
        this.killed(process);
      },
    };
  }

  /** In order. */
  #deliver(stream: Stream, event: CRIEvent): void {
    const { nowMs } = this.#world;
    const latencyMs = stream.laggingMs + this.#random.next() * 10;
    stream.lastArrivalMs = Math.max(stream.lastArrivalMs + tickMs, nowMs + latencyMs);
    stream.process.receive(stream.lastArrivalMs - nowMs, () => {
      if (this.#streams.has(stream)) stream.onEvent(event);
    });
  }

  #strikes(kind: keyof CRIFaults, method?: CRIMethod): boolean {
    const isLog = kind === 'hangs' && method === 'ReopenContainerLog' && this.#hasHangingLogs;
    const factor = isLog ? hangingLogsFactor : method !== undefined && method === this.#focus ? focusFactor : 1;
    const probability = this.#faults[kind] * factor;
    if (probability === 0 || !this.#random.chance(probability)) return false;
    if (!this.#world.happens(`CRI: ${kind} ${method ?? ''}`.trim())) return false;
    this.#world.count(`CRI: ${kind}`);
    return true;
  }

  #isLastHang(method: CRIMethod): boolean {
    if (method !== 'ReopenContainerLog' || this.#world.nowMs >= this.#lastHangUntilMs) return false;
    this.#lastHangUntilMs = 0;
    return this.#world.happens('CRI: the last hang');
  }

  /** A call over a connection: its effect comes later than the call, and its answer later than the effect. */
  #call<Method extends CRIMethod>(
    process: SimulatedProcess,
    method: Method,
    request: RequestOf<Method>,
    { signal }: CRICallOptions = {},
  ): Promise<ResponseOf<Method>> {
    if (!process.isAlive) return new Promise(() => {});
    const world = this.#world;
    world.note(process.name, `→ ${method}`, subjectOf(request));
    if (signal === undefined) world.violate('each call of the CRI has a deadline', method);
    const isSlow = this.#strikes('slow', method);
    const latencyMs = isSlow ? 1_000 + this.#random.next() * 15_000 : 0.3 + this.#random.next() * 5;
    const backMs = 0.1 + this.#random.next() * (isRead(method) ? this.#readMs : 2);
    const is = {
      failed: this.#strikes('failed', method),
      hangs: this.#strikes('hangs', method) || this.#isLastHang(method),
      failedAfter: this.#strikes('failedAfter', method),
      lostAnswer: this.#strikes('lostAnswer', method),
    };
    return new Promise((resolve, reject) => {
      let isOver = false;
      let isCut = false;
      const settle = (run: () => void): void => {
        if (isOver) return;
        isOver = true;
        signal?.removeEventListener('abort', onAbort);
        this.#calls.delete(disconnect);
        this.#waiting.delete(begin);
        run();
      };
      const fail = (error: unknown, delayMs: number): void =>
        void process.receive(delayMs, () => settle(() => reject(error)));
      const onAbort = (): void => settle(() => reject(signal?.reason as Error));
      const disconnect = (): void => {
        isCut = true;
        fail(failure('UNAVAILABLE', 'Connection dropped'), backMs);
      };
      const isCancelled = (): boolean => isOver || isCut || !process.isAlive;
      const begin = (): void => {
        if (isCancelled()) return;
        this.#calls.set(disconnect, process);
        if (is.hangs) {
          if (method === 'PullImage') fail(failure('DEADLINE_EXCEEDED', 'no progress'), pullProgressMs);
          else this.#expectEnd(process, method, () => isOver);
          return;
        }
        world.at(latencyMs, () => {
          if (isCancelled()) return;
          if (is.failed) return fail(failure('UNKNOWN', `${method} failed (simulated)`), backMs);
          const answer = (run: () => void): void => {
            if (isCut) return;
            if (is.failedAfter) return fail(failure('UNAVAILABLE', 'Connection dropped after the effect'), backMs);
            if (!is.lostAnswer) process.receive(backMs, () => settle(run));
            else if (method === 'PullImage') fail(failure('DEADLINE_EXCEEDED', 'no progress'), pullProgressMs);
            else this.#expectEnd(process, method, () => isOver);
          };
          this.#service()
            .call(method, request, isCancelled)
            .then(
              (response) => answer(() => resolve(response)),
              (error: unknown) => answer(() => reject(error)),
            );
        });
      };
      if (signal?.aborted === true) return onAbort();
      signal?.addEventListener('abort', onAbort);
      if (this.#isUp) begin();
      else this.#waiting.add(begin);
    });
  }

  /** The caller gives up in time. */
  #expectEnd(process: SimulatedProcess, method: string, isOver: () => boolean): void {
    process.receive(longestCallMs, () => {
      if (!isOver()) this.#world.violate('each call of the CRI has a deadline', `${method} after ${longestCallMs} ms`);
    });
  }
}

function isRead(method: CRIMethod): boolean {
  return /^List(Containers|PodSandbox)$|^(Container|PodSandbox)Status$/.test(method);
}

function subjectOf(request: object): string {
  const { container_id: container, pod_sandbox_id: sandbox } = request as Readonly<Record<string, string | undefined>>;
  return container ?? sandbox ?? '';
}
