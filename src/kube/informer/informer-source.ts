import { describeAPIError } from '../client/api-error.ts';
import type { InformerState } from '../pod-manager/pod-manager.ts';
import type { Pod } from '../objects/types.ts';
import { Alarm } from '../../shared/alarm.ts';
import type { Clock } from '../../shared/clock.ts';
import { FailureLog } from '../../shared/failure-log.ts';
import type { Logger } from '../../shared/logger.ts';
import { HEALTHY_MS, type ReflectorSink } from './reflector.ts';

/** Receives the API server's pods. */
type InformerPodSink = ReflectorSink<Pod>;

/** The source of an `InformerPodManager`'s pods. */
export interface InformerPodSource {
  start(sink: InformerPodSink): void;
  /** Resolves when no request and no timer is left; the sink is not called after that. */
  stop(): Promise<void>;
  /** True: a pod that its list lacks has been deleted. Absent: the list of the caller's informer may be stale. */
  readonly listsNewest?: true;
  /** As `Reflector.requestSucceeded`; absent if the caller restarts the informer. */
  requestSucceeded?(): void;
  /** Lists and watches, or the caller's informer, that failed and were started again. */
  readonly restarts: number;
  /** Absent when nothing fails. */
  readonly failure?: InformerState['failure'];
}

type Verb = 'add' | 'update' | 'delete';

/** The subset of an informer that is used: client-node's `Informer<V1Pod>`, or any emitter of these events. */
export interface InformerLike {
  /** Registers a callback. */
  on(verb: Verb, callback: (pod: Pod) => void): unknown;
  /** `error`: the informer has ended and sends nothing until it is started again; `connect`: it was started. */
  on(verb: 'connect' | 'error', callback: (error?: unknown) => void): unknown;
  /** Removes a callback. */
  off?(verb: Verb, callback: (pod: Pod) => void): unknown;
  /** Removes a callback. */
  off?(verb: 'connect' | 'error', callback: (error?: unknown) => void): unknown;
  /** The pods in its cache. */
  list?(): readonly Pod[];
}

export interface InformerSourceOptions {
  /** Pods of other nodes are ignored; undefined: the informer has pods of this node only. */
  readonly nodeName: string | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Listens to an informer that the caller starts, restarts and stops. */
export class InformerSource implements InformerPodSource {
  readonly #informer: InformerLike;
  readonly #options: InformerSourceOptions;
  readonly #failureLog: FailureLog;
  /** Due when an informer that was started again has not failed for a while: an idle one sends nothing. */
  readonly #healthy: Alarm;
  #restarts = 0;
  #removeCallbacks = (): void => {};

  constructor(informer: InformerLike, options: InformerSourceOptions) {
    const { nodeName, clock, logger } = options;
    this.#informer = informer;
    this.#options = options;
    this.#failureLog = new FailureLog({
      clock,
      logger,
      what: {
        failed: 'The informer has ended with an error: no change of a pod is seen until it is started again',
        recovered: 'The informer was started again and has not failed since',
      },
      fields: nodeName === undefined ? undefined : { nodeName },
    });
    this.#healthy = new Alarm(clock, () => this.#failureLog.succeeded());
  }

  /** How often the informer was started again after an error. */
  get restarts(): number {
    return this.#restarts;
  }

  get failure(): InformerState['failure'] {
    return this.#failureLog.failure;
  }

  start(sink: InformerPodSink): void {
    const informer = this.#informer;
    const upsert = (pod: Pod): void => {
      this.#received();
      if (this.#isOfNode(pod)) sink.upsert(pod);
    };
    const remove = (pod: Pod): void => {
      this.#received();
      if (this.#isOfNode(pod)) sink.remove(pod);
    };
    const onError = (error: unknown): void => this.#onError(error);
    const onConnect = (): void => this.#onConnect();
    informer.on('add', upsert);
    informer.on('update', upsert);
    informer.on('delete', remove);
    informer.on('error', onError);
    informer.on('connect', onConnect);
    this.#removeCallbacks = () => {
      informer.off?.('add', upsert);
      informer.off?.('update', upsert);
      informer.off?.('delete', remove);
      informer.off?.('error', onError);
      informer.off?.('connect', onConnect);
    };
    for (const pod of informer.list?.() ?? []) if (this.#isOfNode(pod)) sink.upsert(pod);
    sink.synced();
  }

  stop(): Promise<void> {
    this.#removeCallbacks();
    this.#healthy.stop();
    return Promise.resolve();
  }

  #isOfNode({ spec }: Pod): boolean {
    const { nodeName } = this.#options;
    return nodeName === undefined || spec?.nodeName === nodeName;
  }

  #onError(error: unknown): void {
    this.#healthy.stop();
    this.#failureLog.failed(describeAPIError(error, this.#options.clock.now()));
  }

  #onConnect(): void {
    if (this.failure === undefined) return;
    this.#restarts++;
    this.#healthy.arm(HEALTHY_MS);
  }

  #received(): void {
    this.#healthy.stop();
    this.#failureLog.succeeded();
  }
}
