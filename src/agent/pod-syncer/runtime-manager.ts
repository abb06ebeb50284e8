import type { Container, EphemeralContainer, Pod, PodStatusInput, ValidPod } from '../../kube/objects/types.ts';
import { isRestartableInitContainer } from '../../status-manager/status/container-restart.ts';
import { reasonOf } from '../../shared/logger.ts';
import type { ContainerType } from '../../status-manager/metrics.ts';
import type { ActuatedResources } from '../allocation/actuated-resources.ts';
import { lostRuns } from '../actions/lost-runs.ts';
import { computePodActions } from '../actions/compute-pod-actions.ts';
import type { PodActions } from '../actions/pod-actions.ts';
import type { CrashLoopBackOff } from '../back-off/crash-loop-back-off.ts';
import {
  type BoundedRuntime,
  type PodCallOptions,
  type PodEventRecorder,
  type ProbeResults,
  refusedFields,
  type RuntimeContainerStatus,
  type RuntimePodStatus,
  type SyncAction,
  SyncActionError,
  type SyncActionResult,
  volumesOf,
  type Measured,
  type NodeContext,
} from '../../node/index.ts';
import { podStatusFromRuntime, sandboxIPs } from '../pleg/pod-status-from-runtime.ts';
import { ContainerStarter, type ImageVolumes, type StartRequest } from './container-starter.ts';
import type { BoundedHandlerRunner } from './handler-runner.ts';
import type { ImageManager } from './image-manager.ts';
import { ContainerKiller, type KillPodCallOptions } from './kill-pod.ts';
import { podFieldsOf } from '../../kube/pods/pod-log-fields.ts';
import { updateContainers } from './update-containers.ts';

export interface RuntimeManagerOptions extends Pick<NodeContext, 'clock' | 'logger'>, Measured {
  /** A runtime whose calls have a time-out: see `boundedRuntime`. */
  readonly runtime: BoundedRuntime;
  readonly probeResults: ProbeResults;
  /** Undefined if containers are not resized. */
  readonly actuatedResources: ActuatedResources | undefined;
  readonly imageManager: ImageManager;
  readonly handlerRunner: BoundedHandlerRunner;
  readonly crashLoopBackOff: CrashLoopBackOff;
  /** Called when the pod has a new sandbox; must not throw. Source: kubelet `OnPodSandboxReady`. */
  readonly onPodSandboxReady: (pod: ValidPod) => void;
  /** Called before a pod is prepared; must not reject. */
  readonly updateQOSCgroups: () => Promise<void>;
  readonly eventRecorder: PodEventRecorder;
}

/** Inputs of a sync, in addition to the pod and its runtime status. */
export interface SyncPodContext extends PodCallOptions {
  /** Default: false. */
  readonly restartAllContainers?: boolean | undefined;
  /** The pod's status before this sync: ends and restart counts of containers that the runtime has lost. */
  readonly previous?: PodStatusInput | undefined;
}

interface NewSandbox {
  readonly sandboxID: string;
  readonly ips: readonly string[] | undefined;
}

/** Reconciles the containers and the sandbox of a pod with its spec. Source: `kubeGenericRuntimeManager`. */
export class RuntimeManager {
  readonly #options: RuntimeManagerOptions;
  readonly #killer: ContainerKiller;
  readonly #starter: ContainerStarter;

  constructor(options: RuntimeManagerOptions) {
    this.#options = options;
    this.#killer = new ContainerKiller(options);
    this.#starter = new ContainerStarter({ ...options, killer: this.#killer });
  }

  /**
   * One reconciliation of a pod:
   *
   * 1. compute sandbox and container changes;
   * 2. kill the pod if its sandbox has changed;
   * 3. kill containers that should not run, and remove those that must be reset;
   * 4. create a sandbox if necessary;
   * 5. resize the pod and its running containers;
   * 6. start ephemeral containers;
   * 7. start init containers;
   * 8. start regular containers.
   *
   * Containers of a pod with resource claims are not started: there are no DRA drivers. The results show what was tried and what failed; a failure in 2 to 4 ends the sync. Rejects when
   * `signal` is aborted: nothing is started after that. Source: kuberuntime `SyncPod`.
   */
  async syncPod(
    pod: ValidPod,
    runtimeStatus: RuntimePodStatus,
    { restartAllContainers = false, previous, signal, scope }: SyncPodContext,
  ): Promise<SyncActionResult[]> {
    const { actuatedResources, probeResults } = this.#options;
    const options = { signal, scope };
    const actuated = actuatedResources?.pod(pod.metadata.uid);
    const lost = lostRuns(pod, runtimeStatus, previous);
    const actions = computePodActions(pod, runtimeStatus, probeResults, restartAllContainers, actuated, lost);
    if (actions.createSandbox && actions.sandboxID !== '') {
      const message = 'Pod sandbox changed, it will be killed and re-created.';
      this.#options.eventRecorder.event({ pod, type: 'Normal', reason: 'SandboxChanged', message });
    }

    const results = actions.killPod
      ? await this.killPod(pod, runtimeStatus, undefined, options)
      : await this.#killContainers(pod, runtimeStatus, actions, options);
    if (results.some(({ failure }) => failure !== undefined)) return results;
    if (actions.killPod && actions.createSandbox) await this.#removeInitContainers(pod, runtimeStatus, 0);
    await this.#removeInitContainers(pod, runtimeStatus, 1);
    signal.throwIfAborted();

    const refusal = startsContainers(actions) ? this.#refuseResourceClaims(pod) : undefined;
    if (refusal !== undefined) return [...results, refusal];
    let { sandboxID } = actions;
    let { ips } = runtimeStatus;
    if (actions.createSandbox) {
      const result = await this.#createSandbox(pod, actions.attempt, options);
      results.push(result);
      if (result.sandboxID === undefined) return results;
      sandboxID = result.sandboxID;
      if (pod.spec?.hostNetwork !== true) ips = result.ips;
      this.#options.onPodSandboxReady(pod);
    }
    if (actions.containersToUpdate.length > 0 || actions.updatePodResources)
      results.push(await this.#resizePod(pod, actions, options));
    const request = { ...options, pod, runtimeStatus: { ...runtimeStatus, ips }, previous };
    return [...results, ...(await this.#startContainers(request, actions, sandboxID))];
  }

  /** Source: kuberuntime `killPodWithSyncResult`. */
  killPod(
    pod: ValidPod,
    runtimeStatus: RuntimePodStatus,
    gracePeriodSeconds: number | undefined,
    options: KillPodCallOptions,
  ): Promise<SyncActionResult[]> {
    return this.#killer.killPod(pod, runtimeStatus, gracePeriodSeconds, options);
  }

  /** Stops at the first failure. */
  async #killContainers(
    pod: ValidPod,
    runtimeStatus: RuntimePodStatus,
    { containersToKill, containersToReset }: PodActions,
    options: PodCallOptions,
  ): Promise<SyncActionResult[]> {
    const { signal } = options;
    const results: SyncActionResult[] = [];
    const [podIP] = runtimeStatus.ips ?? [];
    for (const { containerID, container, message, reason } of containersToKill) {
      const request = { ...options, pod, containerID, containerName: container.name, message, reason, podIP };
      const result = await this.#killer.killContainer(request);
      signal.throwIfAborted();
      results.push(result);
      if (result.failure !== undefined) return results;
    }
    for (const { containerID, container, kill } of containersToReset) {
      const { name } = container;
      const request = { ...options, pod, containerID, containerName: name, message: 'killing', gracePeriodSeconds: 0 };
      const killed = kill ? await this.#killer.killContainer(request) : undefined;
      signal.throwIfAborted();
      const result =
        killed?.failure === undefined
          ? await this.#attempt('RemoveContainer', name, 'RemoveContainerError', () => this.#remove(containerID))
          : { ...killed, action: 'RemoveContainer' as const };
      results.push(result);
      if (result.failure !== undefined) return results;
    }
    return results;
  }

  /** Source: kuberuntime `SyncPod`, kubelet `PrepareDynamicResources`, as if no DRA driver were registered. */
  #refuseResourceClaims(pod: ValidPod): SyncActionResult | undefined {
    const [claims] = refusedFields('PodSpec', pod.spec, 'spec').filter(
      ({ refused }) => refused === 'FailedPrepareDynamicResources',
    );
    const path = claims?.path ?? (pod.status?.extendedResourceClaimStatus && 'status.extendedResourceClaimStatus');
    if (!path) return undefined;
    const reason = 'FailedPrepareDynamicResources';
    const message = `Failed to prepare dynamic resources: ${path} is not supported by this agent: there are no DRA drivers`;
    this.#options.eventRecorder.event({ pod, type: 'Warning', reason, message });
    const { name, namespace } = pod.metadata;
    const failure = new SyncActionError(reason, message);
    return { action: 'CreatePodSandbox', target: `${name}_${namespace}`, failure };
  }

  /** Rejects when `signal` is aborted: the pod has been deleted, so a sandbox that cannot be created is not a failure. */
  async #createSandbox(
    pod: ValidPod,
    attempt: number,
    { signal, scope }: PodCallOptions,
  ): Promise<SyncActionResult & Partial<NewSandbox>> {
    const { runtime, eventRecorder, updateQOSCgroups, recordMetric } = this.#options;
    const { name, namespace } = pod.metadata;
    const target = { action: 'CreatePodSandbox', target: `${name}_${namespace}` } as const;
    const step = async <T>(reason: string, what: string, call: () => Promise<T>): Promise<T> => {
      try {
        return await call();
      } catch (thrown) {
        signal.throwIfAborted();
        const message = reasonOf(thrown);
        eventRecorder.event({ pod, type: 'Warning', reason, message: `${what}: ${message}` });
        throw new SyncActionError('CreatePodSandboxError', message, { cause: thrown });
      }
    };
    await updateQOSCgroups();
    try {
      await step('FailedCreatePodContainer', 'unable to ensure pod container exists', async () =>
        runtime.preparePod?.(pod, { scope }),
      );
      recordMetric?.('started_pods_total', 1);
      const sandboxID = await step('FailedCreatePodSandBox', 'Failed to create pod sandbox', () =>
        runtime.runPodSandbox!({ pod, attempt }, { scope }),
      ).catch((thrown: unknown) => {
        if (!signal.aborted) recordMetric?.('started_pods_errors_total', 1);
        throw thrown;
      });
      const ips = await step('FailedPodSandBoxStatus', 'Unable to get pod sandbox status', () =>
        this.#podIPs(pod, sandboxID),
      );
      return { ...target, sandboxID, ips };
    } catch (thrown) {
      signal.throwIfAborted();
      return { ...target, failure: thrown as SyncActionError };
    }
  }

  /** The addresses of the sandbox that was just created. Source: kuberuntime `determinePodSandboxIPs`. */
  async #podIPs(pod: ValidPod, sandboxID: string): Promise<readonly string[] | undefined> {
    if (pod.spec?.hostNetwork === true) return undefined;
    const { runtime } = this.#options;
    if (runtime.podSandboxStatus !== undefined) return sandboxIPs(await runtime.podSandboxStatus(sandboxID));
    return podStatusFromRuntime(pod, await runtime.getPod(pod.metadata.uid), runtime).ips;
  }

  async #resizePod(
    pod: ValidPod,
    { containersToUpdate, sandboxID }: PodActions,
    options: PodCallOptions,
  ): Promise<SyncActionResult> {
    const { runtime } = this.#options;
    const actuatedResources = this.#options.actuatedResources!;
    const { name, namespace } = pod.metadata;
    return this.#attempt('ResizePodInPlace', `${name}_${namespace}`, 'ErrResizePodInPlace', () =>
      updateContainers(pod, containersToUpdate, { ...options, runtime, actuatedResources, sandboxID }),
    );
  }

  async #startContainers(
    sync: Omit<StartRequest, 'container' | 'containerType' | 'sandboxID' | 'imageVolumes'>,
    actions: PodActions,
    sandbox: string,
  ): Promise<SyncActionResult[]> {
    const { pod, signal, scope } = sync;
    if (!startsContainers({ ...actions, createSandbox: false })) return [];
    const request = { ...sync, imageVolumes: await this.#pullImageVolumes(pod, { signal, scope }) };
    const results: SyncActionResult[] = [];
    const sandboxID = this.#options.runtime.runPodSandbox === undefined ? undefined : sandbox;
    const start = async (
      container: Container | EphemeralContainer,
      containerType: ContainerType = 'container',
    ): Promise<boolean> => {
      signal.throwIfAborted();
      const result = await this.#attempt('StartContainer', container.name, 'CreateContainerError', () =>
        this.#starter.start({ ...request, container, containerType, sandboxID }),
      );
      signal.throwIfAborted();
      results.push(result);
      return result.failure === undefined;
    };
    for (const container of actions.ephemeralContainersToStart) await start(container, 'ephemeral_container');
    for (const container of actions.initContainersToStart) {
      if (!(await start(container, 'init_container')) && !isRestartableInitContainer(container)) return results;
    }
    for (const container of actions.containersToStart) await start(container);
    return results;
  }

  /** Source: kuberuntime `getImageVolumes`. */
  async #pullImageVolumes(pod: ValidPod, options: PodCallOptions): Promise<ImageVolumes> {
    const pulled = new Map<string, string | SyncActionError>();
    for (const { name, image } of volumesOf(pod)) {
      if (image?.reference === undefined) continue;
      const source = { name: '', image: image.reference, imagePullPolicy: image.pullPolicy };
      try {
        const imageRef = await this.#options.imageManager.ensureImageExists(pod, source, options);
        if (imageRef !== undefined) pulled.set(name, imageRef);
      } catch (thrown) {
        if (!(thrown instanceof SyncActionError)) throw thrown;
        pulled.set(name, thrown);
      }
    }
    return pulled;
  }

  async #attempt(
    action: SyncAction,
    target: string,
    reason: string,
    call: () => Promise<void>,
  ): Promise<SyncActionResult> {
    try {
      await call();
      return { action, target };
    } catch (thrown) {
      const failure =
        thrown instanceof SyncActionError ? thrown : new SyncActionError(reason, reasonOf(thrown), { cause: thrown });
      return { action, target, failure };
    }
  }

  /** Removes exited init containers, except the newest `keep` of each name. */
  async #removeInitContainers(pod: Pod, { containers }: RuntimePodStatus, keep: 0 | 1): Promise<void> {
    const hasEnded = ({ state }: RuntimeContainerStatus): boolean =>
      keep === 0 || state === 'exited' || state === 'unknown';
    for (const { name } of pod.spec?.initContainers ?? []) {
      const runs = containers.filter((run) => run.name === name && hasEnded(run));
      for (const { id } of runs.slice(keep)) {
        await this.#remove(id).catch((thrown: unknown) => {
          const fields = { ...podFieldsOf(pod), container: name, reason: reasonOf(thrown) };
          this.#options.logger.warn(fields, 'Failed to remove an exited init container');
        });
      }
    }
  }

  #remove(containerID: string): Promise<void> {
    return this.#options.runtime.removeContainer(containerID);
  }
}

function startsContainers({
  createSandbox,
  ephemeralContainersToStart,
  initContainersToStart,
  containersToStart,
}: PodActions): boolean {
  const starts = [...ephemeralContainersToStart, ...initContainersToStart, ...containersToStart];
  return createSandbox || starts.length > 0;
}
