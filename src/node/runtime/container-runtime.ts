import type { Container, EphemeralContainer, ResourceRequirementsInput, ValidPod } from '../../kube/objects/types.ts';
import type { RuntimeContainerStatus, RuntimeSandboxStatus } from './runtime-pod-status.ts';
import type { ImageFsStats, PodStats } from './pod-stats.ts';
import type { RuntimeImage } from './runtime-storage.ts';

/** The sandboxes and containers of one pod in the runtime, in any order. */
export interface RuntimePod {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  /** Default: none. Ignored for a runtime without sandboxes. */
  readonly sandboxes?: readonly RuntimeSandboxStatus[] | undefined;
  /** All runs of all containers that have not been removed. */
  readonly containers: readonly RuntimeContainerStatus[];
  /** The pod's addresses, if the runtime has no sandboxes and knows them. Default: none. */
  readonly ips?: readonly string[] | undefined;
}

/** Source: CRI `RuntimeCondition`. */
export interface RuntimeCondition {
  /** `RuntimeReady`, `NetworkReady`. */
  readonly type: string;
  /** True if the condition is met. */
  readonly status: boolean;
  /** Default: empty, like the message. */
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

/** The configuration of a sandbox. Source: CRI `PodSandboxConfig`. */
export interface PodSandboxConfig {
  readonly pod: ValidPod;
  /** How many sandboxes the pod had before this one. */
  readonly attempt: number;
}

/** The configuration of a container. Source: CRI `ContainerConfig`. */
export interface ContainerConfig {
  readonly pod: ValidPod;
  readonly container: Container | EphemeralContainer;
  /**
   * How many runs the container had before this one. The container's status returns it, or a higher number if the
   * runtime knows of more runs.
   */
  readonly attempt: number;
  /** `hashContainer` of the container. The container's status returns it. */
  readonly hash: string;
  /** The sandbox to create it in; absent in a runtime without sandboxes. */
  readonly sandboxID?: string | undefined;
  /** The result of `pullImage`; absent in a runtime without images. */
  readonly imageRef?: string | undefined;
  /** The pod's addresses, the primary one first; with hostNetwork those of the node. Default: none are known. */
  readonly podIPs?: readonly string[] | undefined;
  /**
   * The references of the images that the container mounts, by the name of the volume: results of `pullImage`. Default:
   * it mounts none.
   */
  readonly imageVolumes?: ReadonlyMap<string, string> | undefined;
  /** The ID of the container whose process namespace an ephemeral container targets: its `targetContainerName`. */
  readonly targetContainerID?: string | undefined;
}

/** Source: CRI `ExecSyncResponse`. */
export interface ExecResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** What `pullImage` has pulled. */
export interface PulledImage {
  /** For `createContainer` and the container's status. */
  readonly imageRef: string;
  /** In bytes, for the event `Pulled`. Default: unknown. */
  readonly sizeBytes?: number | undefined;
  /**
   * The Secret whose credentials the registry has accepted: pods without it must pull the image themselves. Default: no
   * credentials were needed, or they were the node's; all pods may then use the image.
   */
  readonly pullSecret?: ImagePullSecret | undefined;
}

/** A Secret with credentials for an image. Source: kubelet.config.k8s.io/v1beta1 `ImagePullSecret`. */
export interface ImagePullSecret {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  /** A hash of the credentials, in the records of pulls; empty: unknown. */
  readonly credentialHash: string;
}

/** Source: CRI `ContainerEventType`. */
export type RuntimeEventType = 'created' | 'started' | 'stopped' | 'deleted';

/** Something that has happened to a container or sandbox. */
export interface RuntimeEvent {
  readonly type: RuntimeEventType;
  readonly podUID: string;
  /** The container; absent for an event of the sandbox. */
  readonly containerID?: string | undefined;
}

/** Options of a call of the runtime. */
export interface CallOptions {
  /** Aborted when the caller no longer waits for the result; the call may then reject. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * The port to the container runtime of an agent, in the CRI's terms. Every method that changes
 * something must be idempotent: stopping or removing something that is already stopped or gone does
 * nothing. A call that rejects is retried later. The message of its error is shown in the pod's status,
 * so it must not contain secrets. A runtime without sandboxes, images, resizes or events omits the
 * methods for them. Source: CRI `RuntimeService`, `ImageService`.
 */
export interface ContainerRuntime {
  /**
   * Whether the runtime (`RuntimeReady`) and its network (`NetworkReady`) are ready, asked every 5 s. While the runtime
   * is not ready, no pod is synced; while the network is not ready, only pods with hostNetwork are started, and others
   * wait with the event `NetworkNotReady`. The Node is not ready in both cases. Without this method, both count as
   * ready. Source: CRI `Status`.
   */
  status?(options?: CallOptions): Promise<{ readonly conditions: readonly RuntimeCondition[] }>;

  /** All pods that have a sandbox or a container, including stopped ones. Source: kubelet `GetPods`. */
  listPods(options?: CallOptions): Promise<readonly RuntimePod[]>;
  /** One pod; undefined if the runtime has no sandbox and no container of it. */
  getPod(uid: string, options?: CallOptions): Promise<RuntimePod | undefined>;

  /**
   * Called with the pods that run or should run, before each sandbox of a pod is created, after a pod was killed, and every
   * minute, to set the cpu share of all Burstable pods together. Failures are logged. Source: kubelet `UpdateQOSCgroups`.
   */
  updateQOSCgroups?(activePods: readonly ValidPod[], options?: CallOptions): Promise<void>;
  /**
   * Called before each sandbox of a pod is created; for the cgroup of the pod, for example. Must be idempotent.
   * Source: kubelet `PodContainerManager.EnsureExists`.
   */
  preparePod?(pod: ValidPod, options?: CallOptions): Promise<void>;
  /**
   * Called when a pod has ended, its containers have exited and its volumes are unmounted: undoes `preparePod`. Must be
   * idempotent; called again if it rejects. Source: kubelet `PodContainerManager.Destroy`.
   */
  releasePod?(pod: ValidPod, options?: CallOptions): Promise<void>;
  /**
   * Called `before` and `after` the containers of a pod are resized, with the new resources of the pod. Raise pod-level
   * limits before, and lower them after. Without this method, a resize of pod-level resources is Infeasible. Source:
   * kubelet `doPodResizeAction`.
   */
  updatePodResources?(
    pod: ValidPod,
    step: 'before' | 'after',
    options?: CallOptions & {
      /** Set by the agent: the ready sandbox of the pod. */
      readonly sandboxID?: string | undefined;
    },
  ): Promise<void>;
  /**
   * The request for cpu and the limits for cpu and memory that the cgroup of the pod has, for `resources` of its status;
   * absent ones are unlimited, or the cgroup is gone. Called at each sync of a running pod, about once a minute. Without
   * this method, or if it resolves with undefined, the status shows the resources of the spec. Source: kubelet
   * `GetPodCgroupConfig`.
   */
  podResources?(pod: ValidPod, options?: CallOptions): Promise<ResourceRequirementsInput | undefined>;
  /** Resolves with the sandbox's ID when it is ready. */
  runPodSandbox?(config: PodSandboxConfig, options?: CallOptions): Promise<string>;
  /**
   * The status of one sandbox, called for its addresses when it has been created. Rejects if the sandbox does not exist.
   * Without this method, they are read with `getPod`. Source: CRI `PodSandboxStatus`.
   */
  podSandboxStatus?(sandboxID: string, options?: CallOptions): Promise<RuntimeSandboxStatus>;
  /** Kills the containers that still run in the sandbox, and releases its network. */
  stopPodSandbox?(sandboxID: string, options?: CallOptions): Promise<void>;
  /** Removes the sandbox and the containers in it. */
  removePodSandbox?(sandboxID: string, options?: CallOptions): Promise<void>;

  /**
   * Resolves with the container's ID, `runtime://id`. Starts nothing. Rejects with a
   * `ContainerConfigError` when the spec cannot be met.
   */
  createContainer(config: ContainerConfig, options?: CallOptions): Promise<string>;
  /** Resolves when the container runs. */
  startContainer(containerID: string, options?: CallOptions): Promise<void>;
  /**
   * Asks the container to stop, and kills it after `gracePeriodSeconds`; with 0 it is killed
   * immediately. Resolves when it has exited.
   */
  stopContainer(containerID: string, gracePeriodSeconds: number, options?: CallOptions): Promise<void>;
  /**
   * Replaces the limits and requests for cpu and memory of a running container; absent ones are
   * unlimited. Rejects if that is impossible, for example because a limit is below the usage. The
   * container's status may then report them in `resources`. Without this method, every resize of a pod
   * is Infeasible. Source: CRI `UpdateContainerResources`.
   */
  updateContainerResources?(
    containerID: string,
    resources: ResourceRequirementsInput,
    options?: CallOptions & {
      /** Set by the agent, like `container`: the pod with its new resources. */
      readonly pod?: ValidPod | undefined;
      readonly container?: Container | undefined;
    },
  ): Promise<void>;
  /** Kills the container if it is running, and removes it. */
  removeContainer(containerID: string, options?: CallOptions): Promise<void>;
  /**
   * Runs a command in a running container. Resolves with any exit code. Rejects if the container is not running, or if
   * the command was killed because it had not ended after `timeoutMs`: milliseconds, where 2^31 − 1, the maximum of
   * `setTimeout`, means no time-out, as for hooks.
   */
  execSync(
    containerID: string,
    command: readonly string[],
    timeoutMs: number,
    options?: CallOptions,
  ): Promise<ExecResult>;

  /**
   * Resolves with the pulled image, or only a reference to it. May reject with an `ImageError`. An error's property
   * `missingPullSecrets`, the names of imagePullSecrets that could not be read, becomes an Event. Its property
   * `mayHavePulled` must be true if the image may have been pulled nevertheless, for example because the response was lost:
   * until the image is pulled again, no pod then uses it without its own credentials.
   */
  pullImage?(image: string, pod: ValidPod, options?: CallOptions): Promise<PulledImage | string>;
  /** The reference to an image that is present; undefined if it must be pulled. May reject with an `ImageError`. */
  imageRef?(
    image: string,
    options?: CallOptions & {
      /** Set by the agent: the pod that needs the image. */
      readonly pod?: ValidPod | undefined;
    },
  ): Promise<string | undefined>;

  /**
   * The Secrets of the pod with credentials for the image: a pod uses an image that is present if one of these has pulled
   * it before. Without this method, it has none. Source: kubelet `GetPodCredentials`.
   */
  imagePullSecrets?(image: string, pod: ValidPod, options?: CallOptions): Promise<readonly ImagePullSecret[]>;

  /** The images that are present. With the next two methods, images are garbage-collected. Source: CRI `ListImages`. */
  listImages?(options?: CallOptions): Promise<readonly RuntimeImage[]>;
  /** Removes an image by its ID, with all its names. */
  removeImage?(imageID: string, options?: CallOptions): Promise<void>;
  /** The usage of the file systems of images and of containers. Source: CRI `ImageFsInfo`. */
  imageFsStats?(options?: CallOptions): Promise<ImageFsStats>;
  /**
   * Statistics of the running pods. With it, pods are evicted when they exceed their limits of local storage. Source: CRI
   * `ListPodSandboxStats`, `ListContainerStats`.
   */
  listPodStats?(options?: CallOptions): Promise<readonly PodStats[]>;

  /**
   * Removes what is left of pods for which `shouldPodContentBeRemoved` is true, apart from sandboxes and containers: logs,
   * cgroups. Called every minute when all sources have delivered their pods. Source: kubelet `evictPodLogsDirectories`,
   * `cleanupOrphanedPodCgroups`.
   */
  removePodContent?(shouldPodContentBeRemoved: (podUID: string) => boolean, options?: CallOptions): Promise<void>;

  /**
   * Calls `listener` soon after each change, until the returned function is called. The agent inspects the pod of a container
   * that was started, and of a container or sandbox that has stopped, immediately. May miss changes, which the agent finds
   * because it lists all pods every second.
   *
   * A runtime that misses none while the stream of its events is open calls `onComplete(true)` once that stream is known to
   * work, and `onComplete(false)` as soon as it ends: in between, the agent lists all pods only every 10 s. Each further
   * `onComplete(true)` makes it list them once more after a second, for changes that are not reported or show up late.
   */
  subscribe?(listener: (event: RuntimeEvent) => void, onComplete?: (areComplete: boolean) => void): () => void;
}

/**
 * `createContainer` rejects with this error if the container's spec cannot be satisfied now, for example
 * because a ConfigMap does not exist or the command is missing. The container then waits with the reason
 * `CreateContainerConfigError`, and is tried again. Source: kubelet `ErrCreateContainerConfig`.
 *
 * @example
 * ```ts
 * import { type ContainerConfig, ContainerConfigError } from 'kubelet-status-manager/agent';
 *
 * function commandOf({ container }: ContainerConfig): readonly string[] {
 *   if (container.command?.length) return container.command;
 *   throw new ContainerConfigError(`Container ${container.name} has no command`);
 * }
 * ```
 */
export class ContainerConfigError extends Error {
  override readonly name = 'ContainerConfigError';
}

/** `execSync` with this `timeoutMs` has no time-out. */
export const noTimeoutMs = 2 ** 31 - 1;

/**
 * `pullImage` or `imageRef` rejects with this error if the container is to wait with one of these reasons. With any
 * other error, it waits with `ErrImagePull` or `ImageInspectError`. Source: kubelet `ErrInvalidImageName`, CRI
 * `ErrRegistryUnavailable`, `ErrSignatureValidationFailed`.
 *
 * @example
 * ```ts
 * import { ImageError } from 'kubelet-status-manager/agent';
 *
 * function requireReachable(registry: string, isReachable: boolean): void {
 *   if (!isReachable) throw new ImageError('RegistryUnavailable', `${registry} does not respond`);
 * }
 * ```
 */
export class ImageError extends Error {
  override readonly name = 'ImageError';
  readonly reason: 'InvalidImageName' | 'RegistryUnavailable' | 'SignatureValidationFailed';

  /** @param message details, without the reason */
  constructor(reason: ImageError['reason'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}
