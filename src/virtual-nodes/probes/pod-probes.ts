import { firstBy } from '../../shared/by-field.ts';
import { isRestartableInitContainer } from '../../status-manager/status/container-restart.ts';
import type { Container, PodStatus, ValidPod } from '../../kube/objects/types.ts';
import {
  BackOffError,
  boundedProber,
  createProber,
  type EventRecorder,
  type ExecResult,
  maxOutputLength,
  type PodCallOptions,
  type PodScope,
  ProberManager,
  type ProberManagerOptions,
} from '../../node/index.ts';
import type { Clock } from '../../shared/clock.ts';
import { type BackOffRange, nextDelayMs } from '../../shared/exponential-back-off.ts';
import { LimitedOutput } from '../../shared/limited-output.ts';
import { reasonOf } from '../../shared/logger.ts';
import type { ProviderCalls } from '../calls/provider-calls.ts';
import { ProviderError, type ProviderPodReference } from '../pod-provider.ts';
import { containerOfID, shortText } from '../pods/provider-pod-status.ts';

export interface PodProbesOptions extends Pick<ProberManagerOptions, 'onUpdate' | 'random' | 'recordMetric'> {
  readonly nodeName: string;
  readonly epoch: number;
  readonly calls: Pick<ProviderCalls, 'bounded' | 'forPod'>;
  readonly callTimeoutMs: number;
  readonly getPodByUID: (podUID: string) => ValidPod | undefined;
  readonly getPodStatus: (podUID: string) => PodStatus | undefined;
  readonly eventRecorder: EventRecorder;
  readonly clock: Clock;
  /** Aborted when the node has stopped, or another process may run it. */
  readonly signal: AbortSignal;
}

/** A call of `killContainer`. It is not repeated before `untilMs`, on the monotonic clock. */
interface Kill {
  readonly untilMs: number;
  readonly delayMs: number;
  /** Absent if it was accepted. */
  readonly failure?: string;
}

/** If a container still runs this long after its grace period, it is killed again. */
const endTimeoutMs = 60_000;
const retryRange: BackOffRange = { firstMs: 1000, maxMs: 60_000 };
const defaultGracePeriodSeconds = 30;

/**
 * The probes of the pods of a node whose provider declares `probes: 'node'`, and what happens when they fail.
 *
 * Divergence: the kubelet can always kill a container, and restarts it with OnFailure even if it then exits with 0. Here, a
 * provider without `killContainer` gets no pod with startup or liveness probes. To call `deletePod`, then `createPod` for the
 * next run would be unsafe. `deletePod` names no run: one that takes effect late, after its time-out or when another process
 * has the node, removes the run that has replaced its own. Between the calls, only this process knows that the pod is to run
 * again: if it ends, the next one finds the pod lost. And a pod that is removed does not show how its containers ended.
 * `killContainer` names the run, and the pod that it stops stays listed.
 */
export class PodProbes {
  readonly manager: ProberManager;
  readonly #options: PodProbesOptions;
  readonly #startedMs: number;
  /** By container ID. */
  readonly #kills = new WeakMap<PodScope, Map<string, Kill>>();

  constructor(options: PodProbesOptions) {
    this.#options = options;
    const { clock, callTimeoutMs, eventRecorder: recorder, signal } = options;
    this.#startedMs = clock.monotonicMs();
    const runtime = {
      execSync: (
        containerID: string,
        command: readonly string[],
        timeoutMs: number,
        { signal: ended = signal }: { readonly signal?: AbortSignal } = {},
      ) => this.#exec(containerID, command, timeoutMs, ended),
    };
    this.manager = new ProberManager({
      ...options,
      agentStartedMs: this.#startedMs,
      prober: boundedProber(createProber({ runtime, recorder, clock }), { clock, timeoutMs: callTimeoutMs, signal }),
    });
  }

  /** When the node was started here, in milliseconds since the epoch by the present wall clock. */
  get startedAtMs(): number {
    const { clock } = this.#options;
    return clock.now() - (clock.monotonicMs() - this.#startedMs);
  }

  /**
   * Has the provider kill the running containers whose startup or liveness probe has failed. Resolves with an error if that
   * must be tried again. Source: kubelet `computePodActions`, `killContainer`.
   */
  async killUnhealthy(pod: ValidPod, options: PodCallOptions): Promise<BackOffError | undefined> {
    const { clock, getPodStatus } = this.#options;
    const { initContainerStatuses = [], containerStatuses = [] } = getPodStatus(pod.metadata.uid) ?? {};
    const statuses = [...initContainerStatuses, ...containerStatuses];
    const kills = this.#kills.get(options.scope) ?? new Map<string, Kill>();
    this.#kills.set(options.scope, kills);
    const present = new Set(statuses.map(({ containerID }) => containerID));
    for (const id of kills.keys()) if (!present.has(id)) kills.delete(id);
    const { initContainers = [], containers = [] } = pod.spec ?? {};
    const specByName = firstBy([...initContainers, ...containers], 'name');
    let error: BackOffError | undefined;
    for (const { name, containerID = '', state } of statuses) {
      const container = specByName.get(name);
      const probeType = (['startup', 'liveness'] as const).find(
        (type) => this.manager.results[type].get(containerID) === 'failure',
      );
      if (container === undefined || probeType === undefined || state.running === undefined) continue;
      let kill = kills.get(containerID);
      if (kill === undefined || clock.monotonicMs() >= kill.untilMs) {
        if (kill === undefined) this.#recordKilling(pod, container, probeType);
        const { attempt } = containerOfID(containerID);
        kill = await this.#kill(pod, container, { probeType, attempt, delayMs: kill?.delayMs ?? 0 }, options);
        kills.set(containerID, kill);
      }
      if (kill.failure !== undefined) error ??= new BackOffError(kill.failure, kill.untilMs);
    }
    return error;
  }

  async #kill(
    pod: ValidPod,
    container: Container,
    run: { readonly probeType: 'startup' | 'liveness'; readonly attempt: number; readonly delayMs: number },
    { signal }: PodCallOptions,
  ): Promise<Kill> {
    const { calls, clock, epoch, eventRecorder } = this.#options;
    const { probeType, attempt: restartCount } = run;
    const gracePeriodSeconds =
      container[`${probeType}Probe`]?.terminationGracePeriodSeconds ??
      pod.spec?.terminationGracePeriodSeconds ??
      defaultGracePeriodSeconds;
    try {
      await calls.forPod(pod.metadata.uid, 'kill_container', signal, async (options, provider) => {
        if (provider.killContainer === undefined) throw new ProviderError(missing('killContainer'));
        const run = { epoch, restartCount, gracePeriodSeconds };
        await provider.killContainer(this.#referenceOf(pod), container.name, { ...options, ...run });
      });
      return { untilMs: clock.monotonicMs() + gracePeriodSeconds * 1000 + endTimeoutMs, delayMs: 0 };
    } catch (thrown) {
      signal.throwIfAborted();
      const message = shortText(reasonOf(thrown));
      const { retryAfterMs, reason = 'ProviderKillFailed' } = thrown instanceof ProviderError ? thrown : {};
      eventRecorder.event({ pod, container: container.name, type: 'Warning', reason: shortText(reason), message });
      const delayMs = nextDelayMs(run.delayMs, retryRange);
      return { untilMs: clock.monotonicMs() + (retryAfterMs ?? delayMs), delayMs, failure: message };
    }
  }

  #recordKilling(pod: ValidPod, container: Container, probeType: 'startup' | 'liveness'): void {
    const isSidecar = isRestartableInitContainer(container);
    const isRestarted = isSidecar || (container.restartPolicy ?? pod.spec?.restartPolicy) !== 'Never';
    const what = isSidecar ? 'Init container' : 'Container';
    const message = `${what} ${container.name} failed ${probeType} probe${isRestarted ? ', will be restarted' : ''}`;
    this.#options.eventRecorder.event({ pod, container: container.name, type: 'Normal', reason: 'Killing', message });
  }

  async #exec(
    containerID: string,
    command: readonly string[],
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<ExecResult> {
    const { calls, epoch, getPodByUID } = this.#options;
    const { podUID, name } = containerOfID(containerID);
    const pod = getPodByUID(podUID);
    if (pod === undefined) throw new Error(`The pod ${podUID} is gone`);
    const [stdout, stderr] = [new LimitedOutput(maxOutputLength), new LimitedOutput(maxOutputLength)];
    const io = { tty: false, stdout, stderr, onResize: () => {} };
    const exitCode = await calls.bounded(
      'exec',
      signal,
      async (options, provider) => {
        if (provider.exec === undefined) throw new ProviderError(missing('exec'));
        return provider.exec(this.#referenceOf(pod), name, [...command], io, { ...options, epoch });
      },
      { podUID, timeoutMs },
    );
    return { exitCode, stdout: stdout.text, stderr: stderr.text };
  }

  #referenceOf({ metadata: { uid, namespace, name } }: ValidPod): ProviderPodReference {
    return { uid, namespace, name, nodeName: this.#options.nodeName };
  }
}

/** With `undeclared: 'warn'`, and for pods of an earlier process. */
function missing(method: string): string {
  return `The provider has no method ${method}`;
}
