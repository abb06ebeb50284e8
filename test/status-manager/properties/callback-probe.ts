import { channel, tracingChannel } from 'node:diagnostics_channel';
import type { PodClient, PodReference, RequestOptions } from '../../../src/kube/client/pod-client.ts';
import type { Pod } from '../../../src/kube/objects/types.ts';
import type { PodExplanation } from '../../../src/status-manager/explain/explanation.ts';
import { type StatusManager, tracingChannelNames } from '../../../src/status-manager/index.ts';
import type { PodInspection } from '../../../src/status-manager/inspection.ts';
import type { StatusManagerOptions } from '../../../src/status-manager/options.ts';
import { outcomeChannelName } from '../../../src/status-manager/sync/outcomes.ts';
import type { StatusOutcome } from '../../../src/status-manager/sync/status-outcome.ts';
import type { AcceptedMessage } from '../../../src/status-manager/tracing.ts';
import type { FakeClock } from '../../../src/testing/fake-clock.ts';

type Ports = Required<
  Pick<
    StatusManagerOptions,
    'logger' | 'metrics' | 'journal' | 'eventRecorder' | 'podStartupLatency' | 'podCouldHaveRunningContainers'
  >
>;

/** What is known of a pod without asking the manager. */
interface Facts {
  readonly key: string;
  /** Of its newest accepted status. */
  version: number;
  /** The newest version at the time of the last PATCH that the API server has taken. */
  taken: number | undefined;
  lastSeenMs: number;
}

/** A status that was dropped stays explainable for ten minutes. */
const keptForMs = 600_000;

/**
 * Calls `explain()` and `inspect()` in every callback of a manager, and compares what they say with what was observed
 * at its edges: requests that have begun and not ended, versions that were accepted, PATCHes that were taken.
 */
export class CallbackProbe {
  /** Where the two differ. */
  readonly lies = new Set<string>();
  /** How often each callback was called. */
  readonly calls = new Map<string, number>();
  /** What the manager may wait for, beside responses. */
  readonly possibleWaits: Set<string>;
  readonly ports: Ports;
  readonly #clock: FakeClock;
  readonly #facts = new Map<string, Facts>();
  /** Requests in flight: `namespace/name` and verb. Pods with other UIDs may have had the name. */
  readonly #requests = new Set<{ readonly key: string; readonly verb: string }>();
  /** Pods with a new version that is not in the facts yet. */
  readonly #accepting = new Set<string>();
  readonly #unsubscribe: (() => void)[] = [];
  #manager: StatusManager | undefined;

  constructor(
    clock: FakeClock,
    podCouldHaveRunningContainers: (pod: Pod) => boolean,
    possibleWaits: readonly string[] = [],
  ) {
    this.#clock = clock;
    this.possibleWaits = new Set(possibleWaits);
    this.ports = {
      logger: this.#port('logger', ['trace', 'debug', 'info', 'warn', 'error']),
      metrics: this.#port('metrics', [
        ...['incRequests', 'observeRequestDuration', 'observePodStatusSyncDuration', 'incOutcomes'],
        ...['incRefusedUpdates', 'incTerminatedContainers', 'incUnsentAtStop', 'incPodResizes', 'setPendingResizes'],
      ]),
      journal: {
        recovered: [],
        accepted: ({ podUID }) => void this.#accepting.add(podUID),
        settled: () => {},
        close: () => Promise.resolve(),
      },
      eventRecorder: this.#port('eventRecorder', ['event']),
      podStartupLatency: this.#port('podStartupLatency', ['recordStatusUpdated', 'deletePodStartupState']),
      podCouldHaveRunningContainers: (pod) => {
        this.#called('podCouldHaveRunningContainers');
        return podCouldHaveRunningContainers(pod);
      },
    };
    this.#subscribe(tracingChannelNames.accepted, (message) => {
      const { podUID, podNamespace, podName, version } = message as AcceptedMessage;
      const { taken } = this.#facts.get(podUID) ?? {};
      // A status that was dropped and set again begins with version 1.
      const isNew = version === 1;
      const lastSeenMs = this.#clock.monotonicMs();
      const key = `${podNamespace}/${podName}`;
      this.#accepting.delete(podUID);
      this.#facts.set(podUID, { key, version, taken: isNew ? undefined : taken, lastSeenMs });
      this.#called('accepted');
    });
    for (const name of [tracingChannelNames.sync, tracingChannelNames.request]) {
      const { start, end, asyncStart, asyncEnd, error } = tracingChannel(name);
      for (const { name: event } of [start, end, asyncStart, asyncEnd, error])
        this.#subscribe(event, () => this.#called(String(event)));
    }
    this.#subscribe(outcomeChannelName, (outcome) => this.#told(outcome as StatusOutcome));
  }

  /** Observes the requests of this client. */
  client(client: PodClient): PodClient {
    const observed = <Args extends readonly unknown[], T>(
      verb: string,
      call: (pod: PodReference, ...args: Args) => Promise<T>,
    ) => {
      return async (pod: PodReference, ...args: Args): Promise<T> => {
        const key = `${pod.namespace}/${pod.name}`;
        const request = { key, verb };
        this.#requests.add(request);
        const versions = this.#ofKey(key).map((facts) => [facts, facts.version] as const);
        const { signal } = args.at(-1) as RequestOptions;
        const ended = (): void => void this.#requests.delete(request);
        signal.addEventListener('abort', ended);
        this.#called(`client ${verb}`);
        try {
          const result = await call(pod, ...args);
          if (verb === 'PATCH') for (const [facts, version] of versions) facts.taken = version;
          return result;
        } finally {
          signal.removeEventListener('abort', ended);
          ended();
        }
      };
    };
    return {
      getPod: observed('GET', client.getPod.bind(client)),
      patchPodStatus: observed('PATCH', client.patchPodStatus.bind(client)),
      deletePod: observed('DELETE', client.deletePod.bind(client)),
    };
  }

  attach(manager: StatusManager): void {
    this.#manager = manager;
    const unsubscribe = manager.subscribe({
      onPodUpdated: () => this.#called('onPodUpdated'),
      onPodRemoved: () => this.#called('onPodRemoved'),
      onOutcome: (outcome) => this.#told(outcome),
    });
    this.#unsubscribe.push(unsubscribe);
  }

  detach(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
  }

  #port(port: string, methods: readonly string[]): never {
    return Object.fromEntries(methods.map((method) => [method, () => this.#called(`${port}.${method}`)])) as never;
  }

  #subscribe(name: string | symbol, listener: (message: unknown) => void): void {
    channel(name).subscribe(listener);
    this.#unsubscribe.push(() => channel(name).unsubscribe(listener));
  }

  #ofKey(key: string): Facts[] {
    return [...this.#facts.values()].filter((facts) => facts.key === key);
  }

  #called(callback: string): void {
    this.calls.set(callback, (this.calls.get(callback) ?? 0) + 1);
    if (this.#manager === undefined) return;
    const pods = new Map(this.#manager.inspect().pods.map((pod) => [pod.podUID, pod]));
    for (const [uid, facts] of this.#facts) {
      const explanation = this.#manager.explain(uid);
      for (const lie of this.#liesOf(uid, facts, explanation, pods.get(uid)))
        this.lies.add(`${callback}: ${lie}: ${explanation.sentence}`);
      if (pods.has(uid)) facts.lastSeenMs = this.#clock.monotonicMs();
    }
  }

  /** In addition, what is said of the version whose outcome is told. */
  #told(outcome: StatusOutcome): void {
    this.#called('outcome');
    const explanation = this.#manager!.explain(outcome.podUID);
    for (const lie of liesAboutOutcome(outcome, explanation))
      this.lies.add(`outcome ${outcome.outcome} of version ${outcome.version}: ${lie}: ${explanation.sentence}`);
  }

  *#liesOf(uid: string, facts: Facts, explanation: PodExplanation, pod: PodInspection | undefined): Generator<string> {
    const { cause, sentence } = explanation;
    const requests = [...this.#requests].filter(({ key }) => key === facts.key).map((request) => request.verb);
    const isOnlyOne = this.#ofKey(facts.key).length === 1;
    const [, verb] = /(GET|PATCH|DELETE) waits for a (?:response|connection)/.exec(sentence) ?? [];
    if (verb !== undefined && !requests.includes(verb)) yield `in flight are ${requests.join(', ')}`;
    if (pod?.isInFlight === false && requests.length > 0 && isOnlyOne) yield 'isInFlight is false during a request';
    if (['limiter', 'retry-after', 'connection', 'turn'].includes(cause.kind) && !this.possibleWaits.has(cause.kind))
      yield 'nothing makes it wait';
    if (/ (?:for|since) [01] s\b/.test(sentence)) yield 'an age that is none';
    if (/next try in/.test(sentence) && this.#manager!.state === 'created') yield 'nothing tries it again';
    const isGone = pod === undefined;
    if (isGone && (cause.kind === 'unknown-pod' || cause.kind === 'not-set')) {
      if (this.#clock.monotonicMs() - facts.lastSeenMs < keptForMs) yield 'its status was set';
    }
    const [, version, claim] = /version (\d+) (was set just now|has been unsent|was written)/.exec(sentence) ?? [];
    if (version === undefined || isGone || this.#accepting.has(uid)) return;
    if (Number(version) !== facts.version) yield `version ${facts.version} is the newest`;
    if (claim === 'was written' && facts.taken !== facts.version) yield `PATCH with ${facts.taken} was taken`;
    if (claim !== 'was written' && facts.taken === facts.version && !pod.isInFlight && pod.sentVersion === undefined)
      yield 'it was taken';
    if (pod.unsentSince === undefined && claim !== 'was written') yield 'nothing is unsent';
  }
}

function* liesAboutOutcome(told: StatusOutcome, explanation: PodExplanation): Generator<string> {
  const { cause, nextTryAt, outage, supersedes, unsentSince, version } = explanation;
  const isNewest = version === told.version;
  switch (told.outcome) {
    case 'written':
    case 'unchanged':
    case 'reconciled':
      if (cause.kind === 'back-off' || nextTryAt !== undefined || outage !== undefined) yield 'it has succeeded';
      if (isNewest && unsentSince !== undefined && cause.kind !== 'hot-loop') yield 'it is sent';
      break;
    case 'superseded':
      if (version !== undefined && version <= told.version) yield 'a newer version was accepted';
      if (cause.kind !== 'dropped' && unsentSince !== undefined && (supersedes ?? 0) < told.version)
        yield 'it was superseded';
      break;
    case 'retried':
    case 'refused':
    case 'forbidden':
      if (isNewest && (cause.kind !== 'back-off' || cause.message !== told.error.message))
        yield 'its request has failed';
      break;
    case 'hot-loop':
      if (isNewest && cause.kind !== 'hot-loop') yield 'it is undone';
      break;
    case 'deletion-requested':
      if (cause.kind !== 'finalizers' && cause.kind !== 'dropped') yield 'its DELETE was accepted';
      break;
    case 'deleted':
    case 'gone':
      if ((version === undefined && cause.kind !== 'finalizers') || cause.kind === 'up-to-date')
        yield 'its status was dropped';
      break;
    default:
      told satisfies never;
  }
}
