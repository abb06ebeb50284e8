import type { Container, EphemeralContainer } from '../../kube/objects/types.ts';
import type { ResizableResource } from '../../kube/pods/resizable-resources.ts';

/** Why a container is killed; empty if its spec changed. Source: kubelet `containerKillReason`. */
export type ContainerKillReason = '' | 'StartupProbe' | 'LivenessProbe' | 'Unknown';

/** A running container that must be killed. */
export interface ContainerToKill {
  readonly containerID: string;
  readonly container: Container;
  /** The message of the `Killing` event. */
  readonly message: string;
  readonly reason: ContainerKillReason;
}

/** An init container that must be removed before it can start again. */
export interface ContainerToReset {
  readonly containerID: string;
  readonly container: Container;
  /** True when it must be killed before it is removed. */
  readonly kill: boolean;
}

/** A resize of one resource of a running container. */
export interface ContainerToUpdate {
  readonly containerID: string;
  readonly container: Container;
  readonly resource: ResizableResource;
}

/**
 * The next actions for a pod, in the order of the fields. If the pod is killed, its containers and its
 * sandbox are stopped first, and nothing is started unless a new sandbox is created.
 * Source: kubelet `podActions`.
 */
export interface PodActions {
  /** Stop all running containers and the sandbox. */
  readonly killPod: boolean;
  readonly createSandbox: boolean;
  /** The sandbox in which containers are started, or which is replaced; empty if there is none. */
  readonly sandboxID: string;
  /** The attempt of the sandbox to create. */
  readonly attempt: number;
  /** Running containers to stop. Those that are also in a list to start are started after that. */
  readonly containersToKill: readonly ContainerToKill[];
  /** Containers to remove from the runtime, in this order, before all containers are started again. */
  readonly containersToReset: readonly ContainerToReset[];
  /** Resizes, in this order; after a failure the rest wait for the next sync. */
  readonly containersToUpdate: readonly ContainerToUpdate[];
  /**
   * The resources of the pod itself change, even if no running container is resized. Source: kubelet
   * `UpdatePodResources`, `UpdatePodLevelResources`.
   */
  readonly updatePodResources: boolean;
  readonly ephemeralContainersToStart: readonly EphemeralContainer[];
  /** Started in this order; after a failure the rest wait for the next sync, unless a sidecar failed. */
  readonly initContainersToStart: readonly Container[];
  readonly containersToStart: readonly Container[];
}
