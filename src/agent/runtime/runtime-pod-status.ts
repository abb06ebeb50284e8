import type { ContainerUser, PodSandbox, ResourceRequirementsInput } from '../../index.ts';

/** Where a container is in its life. Source: CRI `ContainerState`. */
export type RuntimeContainerState = 'created' | 'running' | 'exited' | 'unknown';

/**
 * One run of a container, as the runtime knows it. A container that is restarted is a new one:
 * both have the same `name` and differ in `id` and `attempt`.
 * Source: CRI `ContainerStatus`; kubelet `kubecontainer.Status`.
 */
export interface RuntimeContainerStatus {
  /** Unique on the node, in the form `runtime://id` that a pod status has it in. */
  readonly id: string;
  /** The name in the pod's spec. */
  readonly name: string;
  /** The sandbox that the container was created in; absent in a runtime without sandboxes. */
  readonly sandboxID?: string | undefined;
  readonly state: RuntimeContainerState;
  /** How many times the container was restarted before this run: the restart count. Default: 0. */
  readonly attempt?: number | undefined;
  /** Milliseconds since the epoch, as the times below. */
  readonly createdAtMs: number;
  /** Absent: the container has not started. */
  readonly startedAtMs?: number | undefined;
  /** Absent: the container has not exited. */
  readonly finishedAtMs?: number | undefined;
  /** Read when the state is `exited`. Default: 0. */
  readonly exitCode?: number | undefined;
  /** In a word, why it exited: `Completed`, `Error`, `OOMKilled`. Default: none. */
  readonly reason?: string | undefined;
  /** The termination message. Default: none. */
  readonly message?: string | undefined;
  /** The image that it was started from, as the pod status is to show it. Default: empty. */
  readonly image?: string | undefined;
  /** The image's digest or ID. Default: empty. */
  readonly imageID?: string | undefined;
  /**
   * `hashContainer` of the spec that the container was created from. A running container whose hash
   * differs from its spec's is restarted. Absent: it is never restarted for that reason.
   */
  readonly hash?: string | undefined;
  /** The resources that the container really has. Default: those of the previous status, else of the spec. */
  readonly resources?: ResourceRequirementsInput | undefined;
  readonly user?: ContainerUser | undefined;
  readonly stopSignal?: string | undefined;
}

/** Source: CRI `PodSandboxStatus`. */
export interface RuntimeSandboxStatus extends PodSandbox {
  readonly id: string;
  /** The sandbox's network; absent when the runtime reports none, for example with hostNetwork. */
  readonly network?:
    | { readonly ip?: string | undefined; readonly additionalIPs?: readonly string[] | undefined }
    | undefined;
  /** How many sandboxes the pod had before this one. Default: 0. */
  readonly attempt?: number | undefined;
  /** Milliseconds since the epoch. Default: 0. */
  readonly createdAtMs?: number | undefined;
}

/**
 * What the runtime knows of one pod. Source: kubelet `kubecontainer.PodStatus`.
 */
export interface RuntimePodStatus {
  /** Newest first. */
  readonly sandboxes: readonly RuntimeSandboxStatus[];
  /** All runs of all containers that the runtime still knows, newest first. */
  readonly containers: readonly RuntimeContainerStatus[];
  /**
   * The sandbox whose containers are the pod's present ones; null: none. The containers of earlier
   * sandboxes say nothing of how far the pod is. Default: the newest sandbox, if it is ready.
   */
  readonly activeSandboxID?: string | null | undefined;
  /** The addresses of the newest sandbox, if it is ready. Default: none. */
  readonly ips?: readonly string[] | undefined;
}

/** The newest run of a container. Source: kubelet `FindContainerStatusByName`. */
export function findContainerStatusByName(
  { containers }: RuntimePodStatus,
  name: string,
): RuntimeContainerStatus | undefined {
  return containers.find((container) => container.name === name);
}

/** The containers of the active sandbox. Source: kubelet `PodStatus.ActiveContainerStatuses`. */
export function activeContainerStatuses(runtimeStatus: RuntimePodStatus): RuntimeContainerStatus[] {
  const [newest] = runtimeStatus.sandboxes;
  const { activeSandboxID = newest?.ready === true ? newest.id : null, containers } = runtimeStatus;
  if (activeSandboxID === null) return [];
  return containers.filter(({ sandboxID = activeSandboxID }) => sandboxID === activeSandboxID);
}
