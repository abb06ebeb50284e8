import type { Clock, Timer } from '../../shared/clock.ts';
import type { Container, ContainerStatus, PodStatus, Probe, ValidPod } from '../../kube/objects/types.ts';
import { containerShouldRestart, isRestartableInitContainer } from '../../status-manager/status/container-restart.ts';
import { containerStatusesOf } from '../../status-manager/status/container-statuses.ts';
import {
  type RuntimeContainer,
  shouldAllContainersRestart,
} from '../../status-manager/status/generate-runtime-conditions.ts';
import type { RecordKubeletMetric } from '../../observe/kubelet-metrics.ts';
import { epochMsOf, ObservedTimes } from '../../shared/time.ts';
import type { PodScope } from '../pod-scope.ts';
import type { ProbeResult, ProbeResultsManager, ProbeType } from '../probes/probe-results.ts';
import { probeOf, probeTypes } from '../probes/probe-types.ts';
import { isOlderThanAgent } from '../status/older-than-agent.ts';
import type { BoundedProber } from './prober.ts';

export interface ProbeWorkerOptions {
  readonly pod: ValidPod;
  readonly scope: PodScope;
  /** A container of the pod that has a probe of this type. */
  readonly container: Container;
  readonly probeType: ProbeType;
  readonly results: ProbeResultsManager;
  readonly prober: BoundedProber;
  /** `manager.getPodStatus`. */
  readonly getPodStatus: (podUID: string) => PodStatus | undefined;
  readonly clock: Clock;
  /** When the agent was started, on the monotonic clock. */
  readonly agentStartedMs: number;
  readonly recordMetric: RecordKubeletMetric;
  /** Returns a number in [0, 1), which spreads the first probes after a restart of the agent. */
  readonly random: () => number;
  /** Called once when the worker has ended, because it was stopped or there is nothing left to probe. */
  readonly onExit?: (() => void) | undefined;
}

/** The API server's defaults, which pods of a caller's own source may lack. */
const defaultPeriodSeconds = 10;
const defaultSuccessThreshold = 1;
const defaultFailureThreshold = 3;

/**
 * Runs one probe of one container periodically, and records its result. States: `waiting` for the next tick or a trigger,
 * `probing`, `ended`. At most one probe is in flight. Ticks that are missed during a probe are combined into one, as with a
 * Go ticker.
 *
 * A result is recorded when the number of equal results in a row has reached the threshold. After a liveness probe has
 * failed, or a startup probe has a result, nothing is probed until the container has been replaced (`onHold`). Source:
 * kubelet `prober.worker`.
 *
 * Divergence: the initial delay is measured on the monotonic clock; the wall clock only tells how old the start of the
 * container was when it was first seen. In the kubelet, setting the wall clock back delays probes for as long.
 */
export class ProbeWorker {
  readonly #options: ProbeWorkerOptions;
  readonly #spec: Probe;
  readonly #periodMs: number;
  readonly #stop = new AbortController();
  readonly #startTimes: ObservedTimes;
  #state: 'new' | 'waiting' | 'probing' | 'ended' = 'new';
  #timer: Timer | undefined;
  /** On the monotonic clock. */
  #nextTickMs = 0;
  #isTriggered = false;
  /** ID of the container that was last probed; empty before the first probe. */
  #containerID = '';
  #lastResult: ProbeResult | undefined;
  /** How many times in a row `#lastResult` was seen. */
  #resultRun = 0;
  #onHold = false;

  constructor(options: ProbeWorkerOptions) {
    this.#options = options;
    this.#startTimes = new ObservedTimes(options.clock);
    this.#spec = probeOf(options.container, options.probeType) ?? {};
    this.#periodMs = (this.#spec.periodSeconds || defaultPeriodSeconds) * 1000;
  }

  /** True until the container has been replaced. */
  get onHold(): boolean {
    return this.#onHold;
  }

  get resultRun(): number {
    return this.#resultRun;
  }

  /** Starts probing: immediately, or shortly after a start of the agent at a random time within the first period. */
  start(): void {
    if (this.#state !== 'new') return;
    const { clock, agentStartedMs, random, scope } = this.#options;
    scope.signal.addEventListener('abort', () => this.stop(), { signal: this.#stop.signal });
    const isAgentNew = clock.monotonicMs() - agentStartedMs < this.#periodMs;
    this.#waitUntil(clock.monotonicMs() + (isAgentNew ? random() * this.#periodMs : 0), true);
  }

  /** Probes as soon as possible; the next tick follows one period later. */
  trigger(): void {
    this.#isTriggered = true;
    if (this.#state !== 'waiting' || this.#nextTickMs === 0) return;
    this.#timer?.stop();
    void this.#probeAndWait();
  }

  /** Ends the worker; the result of a probe in flight is dropped. Can be called again. */
  stop(): void {
    this.#stop.abort();
    if (this.#state !== 'probing') this.#end();
  }

  /** Waits for the first probe, or for the next tick. */
  #waitUntil(dueMs: number, isFirst = false): void {
    this.#state = 'waiting';
    if (!isFirst) this.#nextTickMs = dueMs;
    const delayMs = dueMs - this.#options.clock.monotonicMs();
    this.#timer = this.#options.clock.afterFunc(Math.max(0, delayMs), () => void this.#probeAndWait());
  }

  async #probeAndWait(): Promise<void> {
    const { clock } = this.#options;
    if (this.#isTriggered || this.#nextTickMs === 0) this.#nextTickMs = clock.monotonicMs() + this.#periodMs;
    else this.#nextTickMs += this.#periodMs;
    this.#isTriggered = false;
    this.#state = 'probing';
    const goesOn = await this.doProbe();
    if (!goesOn || this.#stop.signal.aborted) return this.#end();
    const nowMs = clock.monotonicMs();
    // Several missed ticks count as one.
    const missed = Math.max(0, Math.floor((nowMs - this.#nextTickMs) / this.#periodMs));
    this.#waitUntil(this.#isTriggered ? nowMs : this.#nextTickMs + missed * this.#periodMs);
  }

  #end(): void {
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    this.#timer?.stop();
    this.#stop.abort();
    if (this.#containerID !== '') this.#options.results.remove(this.#containerID);
    this.#options.onExit?.();
  }

  /**
   * Probes the container once, if it must be probed now, and records the result. Resolves with
   * false if there is nothing left to probe; never rejects. Called by the worker itself and by tests.
   * Source: kubelet `doProbe`.
   */
  async doProbe(): Promise<boolean> {
    const { pod, container, probeType, getPodStatus } = this.#options;
    const { continuesInTermination, probes } = probeTypes[probeType];
    const status = getPodStatus(pod.metadata.uid);
    if (status === undefined) return true;
    if (status.phase === 'Failed' || status.phase === 'Succeeded') return false;

    const containerStatus = findContainerStatus(status, container.name);
    if (!containerStatus?.containerID) return true;
    if (containerStatus.containerID !== this.#containerID) this.#adoptContainer(containerStatus);
    if (this.#onHold) return true;

    if (containerStatus.state.running === undefined) {
      this.#set('failure');
      return !hasEndedForGood(pod, container, status);
    }
    if (pod.metadata?.deletionTimestamp != null && !continuesInTermination) {
      // Nothing is restarted, so a failure would have no effect.
      this.#set('success');
      return false;
    }
    const startedMs = this.#startedMs(containerStatus);
    if (startedMs !== undefined && this.#isInInitialDelay(startedMs)) return true;
    // The startup probe runs until the container has started, the others from then on.
    if ((containerStatus.started === true) === (probes === 'starting')) return true;

    const result = await this.#probe(status);
    if (result !== undefined && !this.#stop.signal.aborted) this.#count(result);
    return true;
  }

  #adoptContainer(status: ContainerStatus): void {
    const { containerID, started } = status;
    const { pod, container, results, probeType, agentStartedMs } = this.#options;
    if (this.#containerID !== '') results.remove(this.#containerID);
    this.#containerID = containerID!;
    this.#onHold = false;
    // A started sidecar is not probed for startup again, and without a result computePodActions would wait
    // forever.
    if (probeType === 'startup' && started === true && isRestartableInitContainer(container)) this.#set('success');
    // A container that an earlier agent probed keeps its readiness until the first probe.
    const startedMs = this.#startedMs(status);
    const isOlder = startedMs !== undefined && isOlderThanAgent(startedMs, agentStartedMs);
    // Divergence: one that an earlier agent has shown as started stays so. In the kubelet, it is probed for startup again if it
    // is younger than 10 s by the wall clock, for example after that was set back, or by the clock of another machine.
    const shown = containerStatusesOf(pod.status).find((one) => one.containerID === containerID);
    const hasStarted = probeType === 'startup' && shown?.started === true;
    if (!isOlder && !hasStarted) this.#set(probeTypes[probeType].initialResult);
  }

  /** When the container was started, on the monotonic clock; undefined if it is not running. */
  #startedMs({ state: { running } }: ContainerStatus): number | undefined {
    if (running?.startedAt == null) return undefined;
    return this.#startTimes.monotonicMs('', epochMsOf(running.startedAt));
  }

  #isInInitialDelay(startedMs: number): boolean {
    const elapsedSeconds = Math.floor((this.#options.clock.monotonicMs() - startedMs) / 1000);
    return elapsedSeconds < (this.#spec.initialDelaySeconds ?? 0);
  }

  async #probe(status: PodStatus): Promise<ProbeResult | undefined> {
    const { pod, container, probeType, prober, scope, recordMetric } = this.#options;
    const request = { probeType, probe: this.#spec, pod, status, container, containerID: this.#containerID };
    let result: ProbeResult | undefined;
    try {
      result = await scope.run(`${probeType} probe`, { signal: this.#stop.signal }, (call) =>
        prober.probe(request, call.signal),
      );
    } catch {
      // Says nothing about the container.
    }
    if (!this.#stop.signal.aborted) recordMetric('node_agent_probes_total', 1, probeType, result ?? 'unknown');
    return result;
  }

  #count(result: ProbeResult): void {
    this.#resultRun = this.#lastResult === result ? this.#resultRun + 1 : 1;
    this.#lastResult = result;
    const { successThreshold, failureThreshold } = this.#spec;
    if (result === 'failure' && this.#resultRun < (failureThreshold ?? defaultFailureThreshold)) return;
    if (result === 'success' && this.#resultRun < (successThreshold ?? defaultSuccessThreshold)) return;
    this.#set(result);
    if (probeTypes[this.#options.probeType].isFinal(result)) {
      this.#onHold = true;
      this.#resultRun = 0;
    }
  }

  #set(result: ProbeResult): void {
    this.#options.results.set(this.#containerID, result, this.#options.pod.metadata.uid);
  }
}

/** True if the container has ended, and nothing starts it again. */
export function hasEndedForGood(pod: ValidPod, container: Container, status: PodStatus): boolean {
  const { terminated } = findContainerStatus(status, container.name)?.state ?? {};
  if (terminated === undefined || containerShouldRestart(container, pod.spec ?? {}, terminated.exitCode)) return false;
  return !shouldAllContainersRestart(pod, status, exitedContainers(status));
}

function findContainerStatus(status: PodStatus, name: string): ContainerStatus | undefined {
  const isIt = (container: ContainerStatus): boolean => container.name === name && !!container.containerID;
  return status.containerStatuses?.find(isIt) ?? status.initContainerStatuses?.find(isIt);
}

/** The container statuses of the pod status; the runtime's are not known here. */
function exitedContainers({ initContainerStatuses = [], containerStatuses = [] }: PodStatus): RuntimeContainer[] {
  return [...initContainerStatuses, ...containerStatuses].flatMap(({ name, state: { terminated } }) =>
    terminated === undefined ? [] : [{ name, exited: true, exitCode: terminated.exitCode }],
  );
}
