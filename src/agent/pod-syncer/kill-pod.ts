import { allContainersOf } from '../../kube/pods/pod-containers.ts';
import { type Clock, sleep } from '../../shared/clock.ts';
import type { Container, Pod, ValidPod } from '../../kube/objects/types.ts';
import { isRestartableInitContainer } from '../../status-manager/status/container-restart.ts';
import { type Logger, reasonOf } from '../../shared/logger.ts';
import type { ContainerKillReason } from '../actions/pod-actions.ts';
import {
  type BoundedRuntime,
  type PodCallOptions,
  type PodEventRecorder,
  type RuntimePodStatus,
  SyncActionError,
  type SyncActionResult,
} from '../../node/index.ts';
import type { BoundedHandlerRunner } from './handler-runner.ts';
import { podFieldsOf } from '../../kube/pods/pod-log-fields.ts';

export interface ContainerKillerOptions {
  readonly runtime: BoundedRuntime;
  readonly handlerRunner: BoundedHandlerRunner;
  readonly clock: Pick<Clock, 'afterFunc' | 'monotonicMs'>;
  readonly eventRecorder: PodEventRecorder;
  readonly logger: Logger;
}

export interface KillPodCallOptions extends PodCallOptions {
  /** The containers whose preStop hook an earlier, aborted call has cut. Their hooks run again, and are not recorded as failed. */
  readonly cutHooks?: Set<string> | undefined;
}

/** One container to kill. */
export interface KillRequest extends KillPodCallOptions {
  readonly pod: ValidPod;
  readonly containerID: string;
  readonly containerName: string;
  /** Message of the event. Default: `Stopping container …`. */
  readonly message?: string | undefined;
  readonly reason?: ContainerKillReason | undefined;
  /** Default: the grace period of the deletion, of the failed probe, or of the pod. */
  readonly gracePeriodSeconds?: number | undefined;
  readonly ordering?: TerminationOrdering | undefined;
  readonly podIP?: string | undefined;
}

/** A container always gets some time to stop on its own. Source: kuberuntime `minimumGracePeriodInSeconds`. */
const minimumGracePeriodSeconds = 2;

/** Stops containers and pods, with preStop hooks, the order of sidecars, and grace periods. Source: kuberuntime `killContainer`. */
export class ContainerKiller {
  readonly #options: ContainerKillerOptions;

  constructor(options: ContainerKillerOptions) {
    this.#options = options;
  }

  /**
   * Kills the running containers of the pod and then its sandboxes; the results show what failed.
   * Source: kuberuntime `killPodWithSyncResult`.
   */
  async killPod(
    pod: ValidPod,
    runtimeStatus: RuntimePodStatus,
    gracePeriodSeconds: number | undefined,
    options: KillPodCallOptions,
  ): Promise<SyncActionResult[]> {
    const { runtime } = this.#options;
    // Divergence: the kubelet does not stop containers in an unknown state, because stopping their sandbox
    // ends them. Without sandboxes they are also stopped here.
    const running = runtimeStatus.containers.filter(
      ({ state }) => state === 'running' || (state === 'unknown' && runtime.stopPodSandbox === undefined),
    );
    const names = running.map(({ name }) => name);
    const hasSidecars = pod.spec?.initContainers?.some(isRestartableInitContainer) === true;
    const ordering = hasSidecars ? new TerminationOrdering(pod, names) : undefined;
    const [podIP] = runtimeStatus.ips ?? [];
    const results = await Promise.all(
      running.map(({ id, name }) =>
        this.killContainer({
          ...options,
          pod,
          containerID: id,
          containerName: name,
          gracePeriodSeconds,
          ordering,
          podIP,
        }),
      ),
    );
    options.signal.throwIfAborted();
    return [...results, ...(await this.#stopSandboxes(runtimeStatus, options.signal))];
  }

  /** Resolves when the container has ended; the result has a failure if it may still be running. */
  async killContainer(request: KillRequest): Promise<SyncActionResult> {
    const { pod, containerName, ordering } = request;
    const target = { action: 'KillContainer', target: containerName } as const;
    try {
      await this.#kill(request, containerOf(pod, containerName));
      ordering?.containerTerminated(containerName);
      return target;
    } catch (thrown) {
      return { ...target, failure: new SyncActionError('KillContainerError', reasonOf(thrown), { cause: thrown }) };
    }
  }

  async #kill(request: KillRequest, container: Container): Promise<void> {
    const { runtime, eventRecorder } = this.#options;
    const { pod, containerID, message, ordering, signal } = request;
    const { name } = container;
    eventRecorder.event({
      ...{ pod, container: name, type: 'Normal', reason: 'Killing' },
      message: message || `Stopping container ${name}`,
    });
    let graceSeconds = request.gracePeriodSeconds ?? terminationGracePeriod(request, container);
    if (container.lifecycle?.preStop != null && graceSeconds > 0) {
      graceSeconds -= await this.#executePreStopHook(request, container, graceSeconds);
    }
    if (ordering !== undefined && graceSeconds > 0) {
      graceSeconds -= await this.#within(graceSeconds, signal, () => ordering.turnOf(name));
    }
    signal.throwIfAborted();
    await runtime.stopContainer(containerID, Math.max(graceSeconds, minimumGracePeriodSeconds), { signal });
  }

  /** Resolves with the seconds that it took; the container is stopped even if the hook fails or takes too long. */
  #executePreStopHook(request: KillRequest, container: Container, graceSeconds: number): Promise<number> {
    const { handlerRunner, eventRecorder, logger } = this.#options;
    const { pod, containerID, podIP, signal, scope, cutHooks } = request;
    const handler = container.lifecycle!.preStop!;
    return this.#within(graceSeconds, signal, async (hookSignal) => {
      try {
        await scope.run('preStop hook', { signal: hookSignal }, (call) =>
          handlerRunner.run({ pod, container, containerID, podIP, handler }, call.signal),
        );
      } catch (thrown) {
        // When its time is over, the hook ends with the container, and counts as failed.
        if (signal.aborted) {
          cutHooks?.add(container.name);
          return;
        }
        // Divergence: in the kubelet, the first hook continues with its own time, and gets an Event if that is too short.
        if (cutHooks?.has(container.name) === true) return;
        // In the kubelet, a sleep continues unobserved, and succeeds.
        if (hookSignal.aborted && handler.sleep != null) return;
        const fields = { ...podFieldsOf(pod), container: container.name, reason: reasonOf(thrown) };
        logger.warn(fields, 'preStop hook failed; stopping the container anyway');
        const message = 'PreStopHook failed';
        eventRecorder.event({ pod, container: container.name, type: 'Warning', reason: 'FailedPreStopHook', message });
      }
    });
  }

  /** Resolves with the full seconds until `work` was done, the time-out had passed, or `signal` was aborted. */
  async #within(seconds: number, signal: AbortSignal, work: (signal: AbortSignal) => Promise<void>): Promise<number> {
    const { clock } = this.#options;
    const startedMs = clock.monotonicMs();
    const ended = new AbortController();
    if (!signal.aborted) void work(ended.signal).finally(() => ended.abort());
    await sleep(clock, seconds * 1000, AbortSignal.any([ended.signal, signal]));
    ended.abort();
    return Math.floor((clock.monotonicMs() - startedMs) / 1000);
  }

  async #stopSandboxes({ sandboxes }: RuntimePodStatus, signal: AbortSignal): Promise<SyncActionResult[]> {
    const { runtime } = this.#options;
    if (runtime.stopPodSandbox === undefined) return [];
    const results: SyncActionResult[] = [];
    for (const { id } of sandboxes) {
      const target = { action: 'KillPodSandbox', target: id } as const;
      try {
        await runtime.stopPodSandbox(id, { signal });
        results.push(target);
      } catch (thrown) {
        results.push({
          ...target,
          failure: new SyncActionError('KillPodSandboxError', reasonOf(thrown), { cause: thrown }),
        });
      }
    }
    return results;
  }
}

/** Source: kuberuntime `setTerminationGracePeriod`. */
function terminationGracePeriod({ pod, reason }: KillRequest, container: Container): number {
  const { metadata, spec } = pod;
  if (metadata?.deletionGracePeriodSeconds != null) return metadata.deletionGracePeriodSeconds;
  if (spec?.terminationGracePeriodSeconds == null) return minimumGracePeriodSeconds;
  const probe =
    reason === 'StartupProbe'
      ? container.startupProbe
      : reason === 'LivenessProbe'
        ? container.livenessProbe
        : undefined;
  return probe?.terminationGracePeriodSeconds ?? spec.terminationGracePeriodSeconds;
}

/**
 * A container that is no longer in the spec has no hooks.
 *
 * Divergence: the kubelet refuses to kill it, so its pod can never end.
 */
function containerOf({ spec }: Pod, name: string): Container {
  return allContainersOf(spec).find((container) => container.name === name) ?? { name };
}

/**
 * The order in which the running containers of a pod are stopped: first all regular containers
 * together, then the sidecars in the reverse order of the spec. Source: kubelet `terminationOrdering`.
 */
export class TerminationOrdering {
  readonly #terminated = new Map<string, { readonly promise: Promise<void>; readonly resolve: () => void }>();
  readonly #prerequisites = new Map<string, readonly Promise<void>[]>();

  constructor({ spec }: Pod, runningContainerNames: readonly string[]) {
    for (const name of runningContainerNames) {
      let resolve = (): void => {};
      const promise = new Promise<void>((done) => (resolve = done));
      this.#terminated.set(name, { promise, resolve });
    }
    const before = (spec?.containers ?? []).map(({ name }) => name);
    for (const container of (spec?.initContainers ?? []).filter(isRestartableInitContainer).toReversed()) {
      const prerequisites = before.flatMap((name) => this.#terminated.get(name)?.promise ?? []);
      this.#prerequisites.set(container.name, prerequisites);
      before.push(container.name);
    }
  }

  /** Resolves when the containers that must end before this one have ended. */
  async turnOf(containerName: string): Promise<void> {
    await Promise.all(this.#prerequisites.get(containerName) ?? []);
  }

  containerTerminated(containerName: string): void {
    this.#terminated.get(containerName)?.resolve();
  }
}
