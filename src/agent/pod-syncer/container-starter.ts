import type { ContainerType } from '../../status-manager/metrics.ts';
import type { ActuatedResources } from '../allocation/actuated-resources.ts';
import {
  type BoundedRuntime,
  ContainerConfigError,
  containerResources,
  crashLoopError,
  crashLoopEvent,
  findContainerStatusByName,
  hashContainer,
  type PodCallOptions,
  type PodEvent,
  type PodEventRecorder,
  type RuntimePodStatus,
  SyncActionError,
  type Measured,
  type NodeContext,
} from '../../node/index.ts';
import type { Container, EphemeralContainer, PodStatusInput, ValidPod } from '../../kube/objects/types.ts';
import { reasonOf } from '../../shared/logger.ts';
import type { CrashLoopBackOff } from '../back-off/crash-loop-back-off.ts';
import type { BoundedHandlerRunner } from './handler-runner.ts';
import type { ImageManager } from './image-manager.ts';
import type { ContainerKiller } from './kill-pod.ts';
import { podFieldsOf } from '../../kube/pods/pod-log-fields.ts';

export interface ContainerStarterOptions extends Pick<NodeContext, 'logger'>, Measured {
  readonly runtime: BoundedRuntime;
  readonly imageManager: ImageManager;
  readonly handlerRunner: BoundedHandlerRunner;
  readonly killer: ContainerKiller;
  readonly actuatedResources: ActuatedResources | undefined;
  readonly crashLoopBackOff: CrashLoopBackOff;
  readonly eventRecorder: PodEventRecorder;
}

/** The reference of the image of each image volume of a pod, or why it cannot be pulled. */
export type ImageVolumes = ReadonlyMap<string, string | SyncActionError>;

/** A container to start, with its pod and sandbox. */
export interface StartRequest extends PodCallOptions {
  readonly pod: ValidPod;
  readonly container: Container | EphemeralContainer;
  readonly containerType: ContainerType;
  readonly runtimeStatus: RuntimePodStatus;
  /** The pod's status before this sync. */
  readonly previous: PodStatusInput | undefined;
  /** Undefined in a runtime without sandboxes. */
  readonly sandboxID: string | undefined;
  readonly imageVolumes: ImageVolumes;
}

/** Starts containers: back-off, image pull, create, start, postStart hook. Source: kuberuntime `startContainer`. */
export class ContainerStarter {
  readonly #options: ContainerStarterOptions;

  constructor(options: ContainerStarterOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the container is running. Rejects with a `SyncActionError`: `CrashLoopBackOff`,
   * `CreateContainerConfigError`, `CreateContainerError`, `RunContainerError`, `PostStartHookError` or one of `ensureImageExists`.
   */
  async start(request: StartRequest): Promise<void> {
    const { containerType } = request;
    const { recordMetric } = this.#options;
    this.#checkBackOff(request);
    recordMetric?.('started_containers_total', 1, containerType);
    const imageVolumes = this.#imageVolumesOf(request);
    try {
      await this.#start(request, imageVolumes);
    } catch (thrown) {
      // A pull that was aborted has not failed.
      if (thrown instanceof SyncActionError)
        recordMetric?.('started_containers_errors_total', 1, containerType, thrown.reason);
      throw thrown;
    }
  }

  async #start(request: StartRequest, imageVolumes: ReadonlyMap<string, string>): Promise<void> {
    const { pod, container, scope } = request;
    const imageRef = await this.#imageRef(request);
    this.#options.actuatedResources?.set(pod, container.name, containerResources(pod, container));
    const containerID = await this.#step('CreateContainerError', request, async () =>
      this.#options.runtime.createContainer(
        {
          pod,
          container,
          attempt: nextAttempt(request),
          hash: hashContainer(container),
          sandboxID: request.sandboxID,
          imageRef,
          ...(imageVolumes.size > 0 && { imageVolumes }),
          ...(request.runtimeStatus.ips?.length && { podIPs: request.runtimeStatus.ips }),
          ...targetOf(request),
        },
        { scope },
      ),
    );
    this.#event(request, 'Normal', 'Created', 'Container created');
    await this.#step(
      'RunContainerError',
      request,
      () => this.#options.runtime.startContainer(containerID, { scope }),
      containerID,
    );
    this.#event(request, 'Normal', 'Started', 'Container started');
    if (container.lifecycle?.postStart != null) await this.#runPostStartHook(request, containerID);
  }

  #checkBackOff({ pod, container, runtimeStatus }: StartRequest): void {
    const crashLoop = this.#options.crashLoopBackOff.doBackOff(pod, container, runtimeStatus);
    if (crashLoop === undefined) return;
    this.#options.eventRecorder.event(crashLoopEvent(pod, container.name));
    throw crashLoopError(crashLoop.message, crashLoop.untilMs);
  }

  /** Source: kuberuntime `toKubeContainerImageVolumes`. */
  #imageVolumesOf(request: StartRequest): ReadonlyMap<string, string> {
    const mounted = (request.container.volumeMounts ?? []).flatMap(({ name }) => {
      const imageRef = request.imageVolumes.get(name);
      return imageRef === undefined ? [] : [[name, imageRef] as const];
    });
    const refs = new Map<string, string>();
    let failure: SyncActionError | undefined;
    for (const [name, imageRef] of mounted) {
      if (typeof imageRef === 'string') {
        refs.set(name, imageRef);
        continue;
      }
      this.#event(request, 'Warning', 'Failed', `Error: ${imageRef.reason}`);
      failure = imageRef;
    }
    if (failure !== undefined) throw failure;
    return refs;
  }

  async #imageRef(request: StartRequest): Promise<string | undefined> {
    const { pod, container, signal, scope } = request;
    try {
      return await this.#options.imageManager.ensureImageExists(pod, container, { signal, scope });
    } catch (thrown) {
      if (thrown instanceof SyncActionError) this.#event(request, 'Warning', 'Failed', `Error: ${thrown.reason}`);
      throw thrown;
    }
  }

  async #step<T>(reason: string, request: StartRequest, call: () => Promise<T>, containerID?: string): Promise<T> {
    try {
      return await call();
    } catch (thrown) {
      const message = reasonOf(thrown);
      this.#event(request, 'Warning', 'Failed', `Error: ${withoutID(message, containerID, request.container.name)}`);
      const isConfigError = thrown instanceof ContainerConfigError;
      throw new SyncActionError(isConfigError ? 'CreateContainerConfigError' : reason, message, { cause: thrown });
    }
  }

  /** A container whose hook fails is killed, and restarted according to its policy. */
  async #runPostStartHook(request: StartRequest, containerID: string): Promise<void> {
    const { handlerRunner, killer, logger } = this.#options;
    const { pod, container, runtimeStatus, signal, scope } = request;
    const [podIP] = runtimeStatus.ips ?? [];
    const handler = container.lifecycle!.postStart!;
    try {
      await scope.run('postStart hook', { signal }, (call) =>
        handlerRunner.run({ pod, container, containerID, podIP, handler }, call.signal),
      );
    } catch (thrown) {
      // The pod is being terminated, which stops its containers.
      signal.throwIfAborted();
      const fields = { ...podFieldsOf(pod), container: container.name, reason: reasonOf(thrown) };
      logger.warn(fields, 'postStart hook failed; killing the container');
      this.#event(request, 'Warning', 'FailedPostStartHook', 'PostStartHook failed');
      const message = 'FailedPostStartHook';
      await killer.killContainer({ pod, containerID, containerName: container.name, message, podIP, signal, scope });
      throw new SyncActionError('PostStartHookError', reasonOf(thrown), { cause: thrown });
    }
  }

  #event(
    { pod, container }: Pick<StartRequest, 'pod' | 'container'>,
    type: PodEvent['type'],
    reason: string,
    message: string,
  ): void {
    this.#options.eventRecorder.event({ pod, container: container.name, type, reason, message });
  }
}

/** Source: kubelet `getTargetID`. @throws ContainerConfigError */
function targetOf({ container, runtimeStatus }: StartRequest): { readonly targetContainerID?: string } {
  const { targetContainerName: name } = container as EphemeralContainer;
  if (!name) return {};
  const target = findContainerStatusByName(runtimeStatus, name);
  if (target === undefined) throw new ContainerConfigError(`unable to find target container ${name}`);
  return { targetContainerID: target.id };
}

/** Replaces container IDs by the name, because events whose messages differ are not aggregated. Source: kuberuntime `recordContainerEvent`. */
function withoutID(message: string, containerID: string | undefined, containerName: string): string {
  const id = containerID?.replace(/^.*:\/\//, '');
  return id === undefined || id === '' ? message : message.replaceAll(id, containerName);
}

/**
 * The restart count of the next run: one more than that of the newest run. If the runtime has lost all runs, for example
 * by a reboot, it follows from the pod's last status.
 *
 * Divergence: in that case, the kubelet counts the log files of the runs, which only a runtime can know here.
 */
function nextAttempt({ container: { name }, runtimeStatus, previous }: StartRequest): number {
  const newest = findContainerStatusByName(runtimeStatus, name);
  if (newest !== undefined) return (newest.attempt ?? 0) + 1;
  const { containerStatuses, initContainerStatuses, ephemeralContainerStatuses } = previous ?? {};
  const lists = [containerStatuses, initContainerStatuses, ephemeralContainerStatuses];
  const shown = lists.flatMap((list) => list ?? []).find((status) => status.name === name);
  const restartCount = shown?.restartCount ?? 0;
  const { running, terminated } = shown?.state ?? {};
  // A status without a container ID has already counted the lost run.
  const isCounted = running == null && terminated == null && !shown?.lastState?.terminated?.containerID;
  return isCounted ? restartCount : restartCount + 1;
}
