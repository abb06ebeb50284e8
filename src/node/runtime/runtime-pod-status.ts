import type { ContainerUser, ResourceRequirementsInput, ResourceStatus } from '../../kube/objects/types.ts';
import type { PodSandbox } from '../../status-manager/status/generate-runtime-conditions.ts';

/** The state of a container. Source: CRI `ContainerState`. */
export type RuntimeContainerState = 'created' | 'running' | 'exited' | 'unknown';

/**
 * One run of a container in the runtime. A restart creates a new container with the same `name` and
 * another `id` and `attempt`.
 * Source: CRI `ContainerStatus`; kubelet `kubecontainer.Status`.
 */
export interface RuntimeContainerStatus {
  /** Unique on the node, in the format of a pod status: `runtime://id`. */
  readonly id: string;
  /** The name in the pod's spec. */
  readonly name: string;
  /** The sandbox that the container was created in; absent in a runtime without sandboxes. */
  readonly sandboxID?: string | undefined;
  readonly state: RuntimeContainerState;
  /** How many times the container was restarted before this run: the restart count. Default: 0. */
  readonly attempt?: number | undefined;
  /** Milliseconds since the epoch, like the times below. */
  readonly createdAtMs: number;
  /** Absent if the container has not started; 0 if it exited without having started, as after a failed start. */
  readonly startedAtMs?: number | undefined;
  /** Absent if the container has not exited. */
  readonly finishedAtMs?: number | undefined;
  /** Read when the state is `exited`. Default: 0. */
  readonly exitCode?: number | undefined;
  /** Why it exited, for example `Completed`, `Error`, `OOMKilled`. Default: none. */
  readonly reason?: string | undefined;
  /** The termination message. Default: none. */
  readonly message?: string | undefined;
  /** The image that it was started from, as shown in the pod status. Default: empty. */
  readonly image?: string | undefined;
  /** The image's ID as in `listImages`, or its digest. Default: empty. */
  readonly imageID?: string | undefined;
  /** What the pod status shows as `imageID`: usually the repository with the digest. Default: `imageID`. */
  readonly imageRef?: string | undefined;
  /**
   * `hashContainer` of the spec that the container was created from. A running container whose hash
   * differs from its spec's is restarted. If it is absent, the container is never restarted for that reason.
   */
  readonly hash?: string | undefined;
  /** The resources that the container actually has. Default: those of the previous status, otherwise of the spec. */
  readonly resources?: ResourceRequirementsInput | undefined;
  /**
   * The health of the container's devices, by resource: `example.com/gpu`, or `claim:NAME`. A change is shown after
   * the next relist. Default: none. Source: kubelet `UpdateAllocatedResourcesStatus`.
   */
  readonly allocatedResourcesStatus?: readonly ResourceStatus[] | undefined;
  readonly user?: ContainerUser | undefined;
  /** The images that it mounts, as in `imageID`: they are in use. Default: none. */
  readonly mountedImageIDs?: readonly string[] | undefined;
  /** The mount points that are recursively read-only. Default: none. */
  readonly recursiveReadOnlyMounts?: readonly string[] | undefined;
  readonly stopSignal?: string | undefined;
}

/** Source: CRI `PodSandboxStatus`. */
export interface RuntimeSandboxStatus extends PodSandbox {
  readonly id: string;
  /** The sandbox's network; absent if the runtime reports none, for example with hostNetwork. */
  readonly network?:
    | { readonly ip?: string | undefined; readonly additionalIPs?: readonly string[] | undefined }
    | undefined;
  /** How many sandboxes the pod had before this one. Default: 0. */
  readonly attempt?: number | undefined;
  /** Milliseconds since the epoch. Default: 0. */
  readonly createdAtMs?: number | undefined;
}

/**
 * What the runtime knows about one pod. Source: kubelet `kubecontainer.PodStatus`.
 */
export interface RuntimePodStatus {
  /** Newest first. */
  readonly sandboxes: readonly RuntimeSandboxStatus[];
  /** All runs of all containers that the runtime still knows, newest first. */
  readonly containers: readonly RuntimeContainerStatus[];
  /**
   * The sandbox that has the pod's current containers; null if there is none. Containers of earlier
   * sandboxes do not count for the pod's progress. Default: the newest sandbox, if it is ready.
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
