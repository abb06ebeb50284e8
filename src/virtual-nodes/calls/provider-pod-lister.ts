import { type Clock, sleep } from '../../shared/clock.ts';
import { type Failure, FailureLog } from '../../shared/failure-log.ts';
import { type Logger, reasonOf } from '../../shared/logger.ts';
import { timeFromEpochMs } from '../../shared/time.ts';
import type { ProviderCalls } from './provider-calls.ts';
import { type PodProvider, ProviderError, type ProviderPod } from '../pod-provider.ts';
import { type ProviderPodList, readProviderPod, readProviderPods } from './require-provider-pods.ts';

export interface ProviderPodListerOptions {
  readonly provider: Pick<PodProvider, 'notifyPods'>;
  readonly calls: Pick<ProviderCalls, 'bounded'>;
  /** From the end of one list to the beginning of the next. */
  readonly listPeriodMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Which pods a list has, including those of other nodes. */
export type ListedPods = Pick<ProviderPodList, 'includes' | 'mayInclude'>;

/** Receives what was observed of the pods of a node. */
export interface ProviderPodSink {
  /**
   * All pods of the node in `list`, which is the observation with this number.
   * @returns what is wrong with pods in the list
   */
  replace(pods: readonly ProviderPod[], observation: number, list: ListedPods): readonly string[];
  /** One pod. */
  set(pod: ProviderPod, observation: number): void;
  /** True while the end of a deleted pod is awaited. */
  readonly isEndAwaited: boolean;
}

/** State of a `ProviderPodLister`, for debugging. */
export interface ProviderListInspection {
  /** When the provider last listed its pods; absent before the first list. */
  readonly listedAt?: string | undefined;
  /** The number of valid pods in the last list, those of other nodes included. */
  readonly pods: number;
  /** Why a pod in the last list, or in a notification since then, is invalid or on the wrong node; absent if all are valid. */
  readonly invalid?: Failure | undefined;
  /** Why the pods cannot be listed, and since when; absent if the last list succeeded. */
  readonly failure?: Failure | undefined;
}

/** `listSoon` causes at most one list in this time. */
const minPeriodMs = 1000;
/** The maximum period while the end of a deleted pod is awaited, because a provider may not notify of a pod that is gone. */
const endPeriodMs = 5000;

/**
 * Lists the pods of all nodes, periodically and on request, and passes them to the nodes. Observations and calls are numbered in
 * the order in which they begin, so that a list that began before a call does not undo what the call changed.
 */
export class ProviderPodLister {
  readonly #options: ProviderPodListerOptions;
  readonly #sinks = new Map<string, ProviderPodSink>();
  readonly #failures: FailureLog;
  readonly #invalid: FailureLog;
  /** Why pods of the last list are invalid. */
  #invalidReasons: ReadonlySet<string> = new Set();
  readonly #stop = new AbortController();
  #lastObservation = 0;
  #pods = 0;
  #listedAtMs: number | undefined;
  #isListRequested = false;
  #wakeUp = new AbortController();
  #unsubscribe: (() => void) | undefined;
  #running: Promise<void> | undefined;

  constructor(options: ProviderPodListerOptions) {
    this.#options = options;
    const { logger, clock } = options;
    this.#failures = new FailureLog({ logger, clock, what: 'Listing the pods of the provider' });
    this.#invalid = new FailureLog({ logger, clock, what: 'Reading a pod of the provider' });
  }

  /** The number of the last observation that has begun; 0 if none has. */
  lastObservation(): number {
    return this.#lastObservation;
  }

  /** The number of a new observation or call; taken right before the provider is called. */
  beginObservation(): number {
    return ++this.#lastObservation;
  }

  /** Passes the pods of a node to `sink` from now on. Returns a function that ends it. */
  subscribe(nodeName: string, sink: ProviderPodSink): () => void {
    this.#sinks.set(nodeName, sink);
    this.listSoon();
    return () => void this.#sinks.delete(nodeName);
  }

  /** Begins to list. Calling it again does nothing. */
  start(): void {
    if (this.#running !== undefined) return;
    this.#unsubscribe = this.#subscribeToProvider();
    this.#running = this.#run();
  }

  /** Lists as soon as possible, at most once a second. */
  listSoon(): void {
    if (this.#isListRequested) return;
    this.#isListRequested = true;
    this.#wakeUp.abort();
  }

  /** Resolves when no list is in progress and nothing more is passed to the nodes. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#wakeUp.abort();
    this.#sinks.clear();
    try {
      this.#unsubscribe?.();
    } catch (thrown) {
      this.#logThrown(thrown);
    }
    await this.#running;
  }

  inspect(): ProviderListInspection {
    const { failure } = this.#failures;
    const invalid = this.#invalid.failure;
    return {
      pods: this.#pods,
      ...(this.#listedAtMs !== undefined && { listedAt: timeFromEpochMs(this.#listedAtMs) }),
      ...(invalid !== undefined && { invalid }),
      ...(failure !== undefined && { failure }),
    };
  }

  async #run(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      this.#isListRequested = false;
      this.#wakeUp = new AbortController();
      const retryAfterMs = await this.#list();
      const listPeriodMs = this.#nextPeriodMs();
      const shortestMs = Math.min(Math.max(minPeriodMs, retryAfterMs), Math.max(listPeriodMs, retryAfterMs));
      await sleep(clock, shortestMs, signal);
      if (this.#isListRequested || signal.aborted) continue;
      await sleep(clock, Math.max(0, listPeriodMs - shortestMs), this.#wakeUp.signal);
    }
  }

  #nextPeriodMs(): number {
    const { listPeriodMs } = this.#options;
    const isEndAwaited = [...this.#sinks.values()].some((sink) => sink.isEndAwaited);
    return isEndAwaited ? Math.min(endPeriodMs, listPeriodMs) : listPeriodMs;
  }

  /** Resolves with the time for which the provider does not want to be called again. */
  async #list(): Promise<number> {
    const { calls, clock } = this.#options;
    const { signal } = this.#stop;
    const observation = this.beginObservation();
    try {
      const list = readProviderPods(
        await calls.bounded<unknown>('list_pods', signal, (options, provider) => provider.listPods(options)),
      );
      this.#pods = list.pods.length;
      this.#listedAtMs = clock.now();
      this.#failures.succeeded();
      const misplaced = this.#deliver(list, observation);
      this.#logInvalid([...list.invalid, ...misplaced]);
      return 0;
    } catch (thrown) {
      if (!signal.aborted) this.#failures.failed(thrown);
      return thrown instanceof ProviderError ? (thrown.retryAfterMs ?? 0) : 0;
    }
  }

  /** Logs every new reason, even while pods are invalid for another one. */
  #logInvalid(reasons: readonly string[]): void {
    const known = this.#invalidReasons;
    this.#invalidReasons = new Set(reasons);
    const first = reasons.find((reason) => !known.has(reason)) ?? reasons[0];
    if (first === undefined) return this.#invalid.succeeded();
    const others = reasons.length === 1 ? '' : `; and ${reasons.length - 1} others`;
    this.#invalid.failed(new Error(`${first}${others}`), {}, { key: first });
  }

  /** Returns why pods that are listed on the wrong node are invalid. */
  #deliver(list: ProviderPodList, observation: number): readonly string[] {
    const byNode = new Map([...this.#sinks.keys()].map((nodeName) => [nodeName, [] as ProviderPod[]]));
    for (const pod of list.pods) byNode.get(pod.nodeName)?.push(pod);
    return [...byNode].flatMap(
      ([nodeName, ofNode]) => this.#sinks.get(nodeName)?.replace(ofNode, observation, list) ?? [],
    );
  }

  #subscribeToProvider(): (() => void) | undefined {
    const { provider } = this.#options;
    try {
      return provider.notifyPods?.(
        (pod) => this.#notified(pod),
        () => this.listSoon(),
      );
    } catch (thrown) {
      this.#logThrown(thrown);
      return undefined;
    }
  }

  #notified(pod: ProviderPod): void {
    let copy: ProviderPod;
    try {
      copy = readProviderPod(pod);
    } catch (thrown) {
      return this.#invalid.failed(thrown);
    }
    this.#sinks.get(copy.nodeName)?.set(copy, this.beginObservation());
  }

  #logThrown(thrown: unknown): void {
    this.#options.logger.error({ reason: reasonOf(thrown), method: 'provider.notifyPods' }, 'User callback threw');
  }
}
