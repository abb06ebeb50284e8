import { setMaxListeners } from 'node:events';
import type { Timer } from '../../shared/clock.ts';
import { type Failure, FailureLog } from '../../shared/failure-log.ts';
import { reasonOf } from '../../shared/logger.ts';
import { MonotonicTimes } from '../../shared/time.ts';
import {
  type BoundedRuntime,
  computeEvents,
  type PlegContainerStates,
  plegContainerStates,
  type PodLifecycleEvent,
  type RuntimePod,
  type Measured,
  type NodeContext,
} from '../../node/index.ts';
import { PodRelists } from './pod-relists.ts';
import type { RuntimePodCache } from './runtime-pod-cache.ts';

/** Options of `GenericPLEG`. */
export interface GenericPLEGOptions extends Pick<NodeContext, 'clock' | 'logger'>, Measured {
  readonly runtime: Pick<BoundedRuntime, 'listPods' | 'getPod' | 'subscribe'>;
  /** Updated from the runtime before the events are sent. */
  readonly cache: RuntimePodCache;
  /** Called for each event, to queue it for the sync loop. Errors that it throws are logged. */
  readonly onEvent: (event: PodLifecycleEvent) => void;
}

/** A call of the runtime that takes so long is logged. */
const slowCallMs = 30_000;

/** From the end of a relist to the next one. */
const relistPeriodMs = 1000;
/** The PLEG is unhealthy when it has not relisted for so long. */
const relistThresholdMs = 180_000;
/** The number of relist periods between two relists that only look for lost events. */
const periodsWithEvents = 10;

/** Whether the runtime responds. Times are RFC 3339. */
export interface RuntimeInspection {
  /** When its pods were last listed; undefined before the first time. */
  readonly relistedAt: string | undefined;
  /** How long after that they are listed again: 1,000, or 10,000 while the runtime's events are complete. */
  readonly relistPeriodMs: number;
  /** Why its pods cannot be listed now; undefined while they can. */
  readonly failure: Failure | undefined;
  /** Pods with a ready sandbox, or, without sandboxes, with a running container. */
  readonly runningPods: number;
  /** The number of containers by state; states without a container are absent. */
  readonly containers: Readonly<Record<string, number>>;
}

const none: PlegContainerStates = new Map();

/** Source: kubelet `podRecord`. */
interface PlegPodRecord {
  readonly states: PlegContainerStates;
  /** The health of its devices. As in the kubelet's container manager, a change sends an event. */
  readonly health: string;
}

/**
 * Lists the pods of the runtime every second and reports what has changed. If the runtime sends events, the pod of an event
 * is inspected immediately. When the runtime fails, no event is sent, and the next relist tries again. Source: kubelet
 * `GenericPLEG`.
 *
 * While the runtime says that its events are complete, a relist only finds changes that were lost nevertheless, so it
 * follows after 10 s. It comes sooner if the last one failed, a pod cannot be inspected, a worker waits for a newer status,
 * or the events have ended.
 *
 * Divergence: the kubelet reads the status of each pod that changed, because its list has only the states of containers.
 * `listPods` returns complete statuses, so every relist updates the cache.
 *
 * Divergence: the kubelet inspects pods and lists them one after the other, so one call that hangs delays all. Here, pods
 * are inspected in parallel with each other and with the list, and a pod rests afterwards: see `PodRelists`.
 *
 * Divergence: the kubelet uses the runtime's events only with the feature gate `EventedPLEG`, and then relists every 300 s.
 */
export class GenericPLEG {
  readonly #options: GenericPLEGOptions;
  /** By UID: the states that events have reported, of all pods in the runtime, with or without a worker. */
  readonly #records = new Map<string, PlegPodRecord>();
  readonly #podsToReinspect = new Set<string>();
  /** Defined while the PLEG is running. */
  #podRelists: PodRelists | undefined;
  /** Relists of all pods run one after another. */
  #lastRelist: Promise<void> = Promise.resolve();
  /** When the runtime last said that its events are complete; undefined while they are not. */
  #eventsCompleteSinceMs: number | undefined;
  /** When the last periodic relist ended; undefined while one is running or due. */
  #periodStartedMs: number | undefined;
  /** Defined while the PLEG is running. */
  #run: AbortController | undefined;
  #timer: Timer | undefined;
  #unsubscribe: (() => void) | undefined;
  /** When the last successful relist began. */
  #relistedAtMs: number | undefined;
  readonly #failures: FailureLog;

  constructor(options: GenericPLEGOptions) {
    this.#options = options;
    const what = {
      failed: 'GenericPLEG: unable to retrieve pods',
      recovered: 'GenericPLEG: able to retrieve pods again',
    };
    this.#failures = new FailureLog({ ...options, what });
  }

  /** Starts to relist. Calling it again does nothing. */
  start(): void {
    if (this.#run !== undefined) return;
    const run = new AbortController();
    // Any number of pods are inspected at the same time.
    setMaxListeners(0, run.signal);
    this.#run = run;
    const { clock } = this.#options;
    this.#podRelists = new PodRelists({ relist: (podUID) => this.#relistPod(podUID), clock, signal: run.signal });
    this.#subscribe();
    this.#options.cache.onWait((podUID, { observeNow = false }) => {
      if (observeNow) this.requestRelist(podUID);
      this.#schedule();
    });
    void this.#relistAndWait(run);
  }

  /** Resolves when no relist is running. `start` can be called again. */
  async stop(): Promise<void> {
    this.#run?.abort();
    this.#run = undefined;
    const podRelists = this.#podRelists;
    this.#podRelists = undefined;
    this.#timer?.stop();
    this.#periodStartedMs = undefined;
    this.#tryCall(() => this.#unsubscribe?.());
    this.#unsubscribe = undefined;
    this.#eventsCompleteSinceMs = undefined;
    await Promise.all([this.#lastRelist, podRelists?.whenIdle()]);
  }

  /**
   * Why the PLEG is unhealthy; undefined if it is healthy. Source: kubelet `Healthy`.
   *
   * Divergence: the reason includes the runtime's last error, which the kubelet only logs.
   */
  unhealthyReason(): string | undefined {
    const reason = this.#unhealthyReason();
    const error = this.#failures.reason;
    return reason === undefined || error === undefined ? reason : `${reason}: ${error}`;
  }

  /** A snapshot; makes no call. */
  inspect(): RuntimeInspection {
    const times = new MonotonicTimes(this.#options.clock);
    return {
      relistedAt: this.#relistedAtMs === undefined ? undefined : times.format(this.#relistedAtMs),
      relistPeriodMs: this.#relistPeriodMs(),
      failure: this.#failures.failure,
      ...this.#options.cache.counts(),
    };
  }

  #unhealthyReason(): string | undefined {
    if (this.#relistedAtMs === undefined) return 'pleg has yet to be successful';
    const elapsedMs = this.#options.clock.monotonicMs() - this.#relistedAtMs;
    if (elapsedMs <= relistThresholdMs) return undefined;
    return `pleg was last seen active ${elapsedMs / 1000} s ago; threshold is ${relistThresholdMs / 1000} s`;
  }

  /** Makes the next relist send an event for the pod, even if nothing has changed. */
  requestReinspect(podUID: string): void {
    this.#podsToReinspect.add(podUID);
  }

  /** Inspects one pod as soon as possible. Does nothing unless the PLEG is running. */
  requestRelist(podUID: string): void {
    this.#podRelists?.request(podUID);
  }

  /** Inspects all pods now, unless `stop` is called first. Never rejects: failures are logged. */
  relist(): Promise<void> {
    const run = this.#run;
    this.#lastRelist = this.#lastRelist.then(async () => {
      if (run?.signal.aborted !== true) await this.#relistAll();
    });
    return this.#lastRelist;
  }

  async #relistAndWait(run: AbortController): Promise<void> {
    this.#periodStartedMs = undefined;
    await this.relist();
    if (run.signal.aborted) return;
    this.#periodStartedMs = this.#options.clock.monotonicMs();
    this.#schedule();
  }

  /** Sets the timer for the next periodic relist. Called again when the reason for a long wait has ended. */
  #schedule(): void {
    const run = this.#run;
    if (this.#periodStartedMs === undefined || run === undefined) return;
    this.#timer?.stop();
    const { clock } = this.#options;
    const elapsedMs = clock.monotonicMs() - this.#periodStartedMs;
    this.#timer = clock.afterFunc(Math.max(0, this.#relistPeriodMs() - elapsedMs), () => void this.#relistAndWait(run));
  }

  #relistPeriodMs(): number {
    return this.#isCalm() ? periodsWithEvents * relistPeriodMs : relistPeriodMs;
  }

  /** Whether a relist would only find lost events. */
  #isCalm(): boolean {
    const sinceMs = this.#eventsCompleteSinceMs;
    // An earlier relist may have missed what the events did not show.
    const isCovered = sinceMs !== undefined && (this.#relistedAtMs ?? -Infinity) >= sinceMs + relistPeriodMs;
    return isCovered && this.#failures.failure === undefined && !this.#options.cache.isAwaited;
  }

  #eventsComplete(areComplete: boolean): void {
    const nowMs = this.#options.clock.monotonicMs();
    // The change that an event announces may still be in progress, so a long wait does not end immediately.
    if (areComplete && this.#isCalm() && this.#periodStartedMs !== undefined) this.#periodStartedMs = nowMs;
    this.#eventsCompleteSinceMs = areComplete ? nowMs : undefined;
    this.#schedule();
  }

  async #relistAll(): Promise<void> {
    const { cache, clock, recordMetric } = this.#options;
    const run = this.#run;
    const relistedAtMs = clock.monotonicMs();
    const lastSeenSeconds = Math.trunc(clock.now() / 1000);
    if (this.#relistedAtMs !== undefined)
      recordMetric?.('pleg_relist_interval_seconds', (relistedAtMs - this.#relistedAtMs) / 1000);
    const observation = cache.beginObservation();
    const timer = this.#watchCall('listPods', run);
    try {
      const pods = await this.#options.runtime.listPods({ signal: run?.signal });
      const current = new Map(pods.map((pod) => [pod.uid, pod]));
      for (const podUID of new Set([...this.#records.keys(), ...current.keys()]))
        this.#reconcile(podUID, current.get(podUID), observation);
      cache.updateTime(observation);
    } catch (thrown) {
      return this.#logFailure(thrown, run, relistedAtMs);
    } finally {
      timer.stop();
      recordMetric?.('pleg_relist_duration_seconds', (clock.monotonicMs() - relistedAtMs) / 1000);
    }
    this.#failures.succeeded();
    this.#relistedAtMs = relistedAtMs;
    recordMetric?.('pleg_last_seen_seconds', lastSeenSeconds);
  }

  async #relistPod(podUID: string): Promise<void> {
    const { runtime, cache, clock, recordMetric } = this.#options;
    const run = this.#run;
    const startedMs = clock.monotonicMs();
    const observation = cache.beginObservation();
    const timer = this.#watchCall('getPod', run);
    try {
      const pod = await runtime.getPod(podUID, { signal: run?.signal });
      this.#reconcile(podUID, pod, observation);
      cache.setObservedTime(podUID, observation);
    } catch (thrown) {
      // The next relist of all pods tries again.
      this.#logFailure(thrown, run, startedMs);
      this.#schedule();
    } finally {
      timer.stop();
      recordMetric?.('pleg_pod_relist_duration_seconds', (clock.monotonicMs() - startedMs) / 1000);
    }
  }

  /** Logs a hanging call as a failure long before its time-out. */
  #watchCall(method: string, run: AbortController | undefined): Timer {
    const { clock } = this.#options;
    const startedMs = clock.monotonicMs();
    return clock.afterFunc(slowCallMs, () =>
      this.#logFailure(new Error(`${method} has not returned for ${slowCallMs} ms`), run, startedMs),
    );
  }

  /** Source: kubelet `reconcilePodRecord`. */
  #reconcile(podUID: string, pod: RuntimePod | undefined, observation: number): void {
    const { cache } = this.#options;
    const isNewest = pod === undefined ? cache.delete(podUID, observation) : cache.set(pod, observation);
    // A relist that began later has ended earlier.
    if (!isNewest) return;
    const current = pod === undefined ? none : plegContainerStates(pod);
    const known = this.#records.get(podUID);
    const isKnown = known !== undefined || pod !== undefined;
    const health = healthOf(pod);
    const hasHealthChanged = known !== undefined && health !== known.health;
    const events = computeEvents(podUID, known?.states ?? none, current);
    if (pod === undefined) this.#records.delete(podUID);
    else this.#records.set(podUID, { states: current, health });
    const isReinspected = isKnown && this.#podsToReinspect.delete(podUID);
    if ((isReinspected || hasHealthChanged) && events.length === 0) events.push({ podUID, type: 'PodSync' });
    for (const event of events) {
      // As in the kubelet, no event is sent: a container that was created or is unknown needs no sync.
      if (event.type !== 'ContainerChanged') this.#tryCall(() => this.#options.onEvent(event));
    }
  }

  #subscribe(): void {
    this.#tryCall(() => {
      this.#unsubscribe = this.#options.runtime.subscribe?.(
        ({ podUID, type, containerID }) => {
          // Creation and removal make no event. Neither does the start of a sandbox: it would be seen without its
          // containers, in the middle of a sync, and cause one more sync. The next relist is soon enough.
          const isSandbox = containerID === undefined;
          if (type === 'stopped' || (type === 'started' && !isSandbox)) this.requestRelist(podUID);
        },
        (areComplete) => this.#eventsComplete(areComplete),
      );
    });
  }

  #tryCall(call: () => void): void {
    try {
      call();
    } catch (thrown) {
      this.#options.logger.error({ reason: reasonOf(thrown) }, 'GenericPLEG: onEvent or subscribe failed');
    }
  }

  /** An error that `stop` caused is not logged. */
  #logFailure(thrown: unknown, run: AbortController | undefined, startedMs: number): void {
    if (run?.signal.aborted) return;
    const tookMs = this.#options.clock.monotonicMs() - startedMs;
    this.#failures.failed(thrown, {}, { level: 'error', tookMs });
  }
}

/** The health of the devices of a pod's containers, for comparison; empty if the runtime reports none. */
function healthOf(pod: RuntimePod | undefined): string {
  const healths = (pod?.containers ?? []).flatMap(({ id, allocatedResourcesStatus }) =>
    allocatedResourcesStatus === undefined ? [] : [[id, allocatedResourcesStatus]],
  );
  return healths.length === 0 ? '' : JSON.stringify(healths);
}
