import type { Container, EphemeralContainer, Pod, ResourceRequirementsInput } from '../../index.ts';
import type { RuntimeContainerStatus, RuntimeSandboxStatus } from './runtime-pod-status.ts';

/** What a runtime has of one pod, in any order. */
export interface RuntimePod {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  /** Default: none. Not read of a runtime without sandboxes. */
  readonly sandboxes?: readonly RuntimeSandboxStatus[] | undefined;
  /** All runs of all containers that were not removed. */
  readonly containers: readonly RuntimeContainerStatus[];
  /** The pod's addresses, if the runtime has no sandboxes and knows them. Default: none. */
  readonly ips?: readonly string[] | undefined;
}

/** What a sandbox is made from. Source: CRI `PodSandboxConfig`. */
export interface PodSandboxConfig {
  readonly pod: Pod;
  /** How many sandboxes the pod had before. */
  readonly attempt: number;
}

/** What a container is made from. Source: CRI `ContainerConfig`. */
export interface ContainerConfig {
  readonly pod: Pod;
  readonly container: Container | EphemeralContainer;
  /** How many runs the container had before. The status of the container has it again. */
  readonly attempt: number;
  /** `hashContainer` of the container. The status of the container has it again. */
  readonly hash: string;
  /** The sandbox to create it in; absent in a runtime without sandboxes. */
  readonly sandboxID?: string | undefined;
  /** What `pullImage` resolved with; absent in a runtime without images. */
  readonly imageRef?: string | undefined;
}

/** Source: CRI `ExecSyncResponse`. */
export interface ExecResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Source: CRI `ContainerEventType`. */
export type RuntimeEventType = 'created' | 'started' | 'stopped' | 'deleted';

/** Something that has happened to a container or sandbox. */
export interface RuntimeEvent {
  readonly type: RuntimeEventType;
  readonly podUID: string;
  /** The container; absent when it is the sandbox. */
  readonly containerID?: string | undefined;
}

/** Options of a call of the runtime. */
export interface CallOptions {
  /** Aborted when the caller no longer waits for the result; the call may then reject. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * What an agent needs of whatever runs its containers, in CRI's terms. Every method that changes
 * something can be called again with the same arguments: stopping and removing what is stopped or
 * gone already does nothing. A call that rejects is tried again later; the message of its error is
 * shown in the pod's status, so it has no secrets. A runtime without sandboxes, images, resizes or events
 * leaves the methods for them out. Source: CRI `RuntimeService`, `ImageService`.
 */
export interface ContainerRuntime {
  /** All pods that have a sandbox or a container, stopped ones included. Source: kubelet `GetPods`. */
  listPods(options?: CallOptions): Promise<readonly RuntimePod[]>;
  /** One of them; undefined when the runtime has nothing of it. */
  getPod(uid: string, options?: CallOptions): Promise<RuntimePod | undefined>;

  /** Resolves with the sandbox's ID when it is ready. */
  runPodSandbox?(config: PodSandboxConfig, options?: CallOptions): Promise<string>;
  /** Kills what still runs in the sandbox and gives its network back. */
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
   * Asks the container to end, and kills it when it has not after `gracePeriodSeconds`; at 0 it is
   * killed immediately. Resolves when it has exited.
   */
  stopContainer(containerID: string, gracePeriodSeconds: number, options?: CallOptions): Promise<void>;
  /**
   * Gives a running container these limits and requests of cpu and memory, in place of those that it
   * has; what is left out is not limited. Rejects when it cannot, for example below what is in use.
   * The status of the container may have them in `resources` after that. Without this method a resize
   * of a pod is Infeasible. Source: CRI `UpdateContainerResources`.
   */
  updateContainerResources?(
    containerID: string,
    resources: ResourceRequirementsInput,
    options?: CallOptions,
  ): Promise<void>;
  /** Kills the container if it runs, and forgets it. */
  removeContainer(containerID: string, options?: CallOptions): Promise<void>;
  /**
   * Runs a command in a running container; whatever its exit code is, the call resolves. Rejects
   * when the container does not run, or the command has not ended after `timeoutMs`, which kills it.
   */
  execSync(
    containerID: string,
    command: readonly string[],
    timeoutMs: number,
    options?: CallOptions,
  ): Promise<ExecResult>;

  /** Resolves with a reference to the image that is now there. */
  pullImage?(image: string, pod: Pod, options?: CallOptions): Promise<string>;
  /** The reference to an image that is there; undefined when it has to be pulled. */
  imageRef?(image: string, options?: CallOptions): Promise<string | undefined>;

  /** Calls `listener` soon after each change, until the returned function is called. May miss some. */
  subscribe?(listener: (event: RuntimeEvent) => void): () => void;
}
