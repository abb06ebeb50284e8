import type { Container, EphemeralContainer } from '../../index.ts';
import type { ResizableResource } from '../allocation/container-resources.ts';

/** Why a container is killed; empty: because its spec changed. Source: kubelet `containerKillReason`. */
export type ContainerKillReason = '' | 'StartupProbe' | 'LivenessProbe' | 'Unknown';

/** A running container that must be killed. */
export interface ContainerToKill {
  readonly containerID: string;
  readonly container: Container;
  /** For the event of the kill. */
  readonly message: string;
  readonly reason: ContainerKillReason;
}

/** An init container that must be removed before it can start again. */
export interface ContainerToReset {
  readonly containerID: string;
  readonly container: Container;
  /** True when it has to be killed before it is removed. */
  readonly kill: boolean;
}

/** A running container that is to get another amount of one resource. */
export interface ContainerToUpdate {
  readonly containerID: string;
  readonly container: Container;
  readonly resource: ResizableResource;
}

/**
 * What is to be done for a pod now, in the order of the members: a pod that is killed loses all of
 * its containers and its sandbox first, and starts nothing unless a sandbox is created.
 * Source: kubelet `podActions`.
 */
export interface PodActions {
  /** Stop all running containers and the sandbox. */
  readonly killPod: boolean;
  readonly createSandbox: boolean;
  /** The sandbox that containers are started in, or that is replaced; empty: none. */
  readonly sandboxID: string;
  /** The attempt of the sandbox to create. */
  readonly attempt: number;
  /** Running containers to stop. Those that are also to be started are started again after that. */
  readonly containersToKill: readonly ContainerToKill[];
  /** Containers to remove from the runtime, in this order, before all containers are started again. */
  readonly containersToReset: readonly ContainerToReset[];
  /** In this order; one that fails keeps those after it waiting. */
  readonly containersToUpdate: readonly ContainerToUpdate[];
  readonly ephemeralContainersToStart: readonly EphemeralContainer[];
  /** In this order; when a start fails, those after it wait, unless it was a sidecar's. */
  readonly initContainersToStart: readonly Container[];
  readonly containersToStart: readonly Container[];
}
