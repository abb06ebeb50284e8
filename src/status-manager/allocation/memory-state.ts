import type { Pod, ResourceRequirements } from '../../kube/objects/types.ts';
import { requireOneOf, requireText } from '../../shared/validate.ts';
import { type AllocationState, type PodResizeStatus, podResizeStatuses } from './allocation-state.ts';
import { allocationFromPod, type PodAllocation } from './pod-allocation.ts';

/** In-memory allocations. Source: kubelet `state.NewStateMemory`. */
export class MemoryState implements AllocationState {
  readonly #allocations: Map<string, PodAllocation>;
  readonly #resizeStatuses: Map<string, PodResizeStatus>;

  constructor(
    allocations: ReadonlyMap<string, PodAllocation> = new Map(),
    resizeStatuses: ReadonlyMap<string, PodResizeStatus> = new Map(),
  ) {
    this.#allocations = new Map(allocations);
    this.#resizeStatuses = new Map(resizeStatuses);
  }

  /** By pod UID; the live map, to be read only. */
  get allocations(): ReadonlyMap<string, PodAllocation> {
    return this.#allocations;
  }

  /** By pod UID, without those that are `''`; the live map, to be read only. */
  get resizeStatuses(): ReadonlyMap<string, PodResizeStatus> {
    return this.#resizeStatuses;
  }

  getContainerResourceAllocation(podUID: string, containerName: string): ResourceRequirements | undefined {
    return this.#allocations.get(podUID)?.containerResources?.get(containerName);
  }

  getPodLevelResourceAllocation(podUID: string): ResourceRequirements | undefined {
    return this.#allocations.get(podUID)?.podLevelResources ?? undefined;
  }

  getPodResizeStatus(podUID: string): PodResizeStatus {
    return this.#resizeStatuses.get(podUID) ?? '';
  }

  async setPodAllocation(pod: Pod): Promise<void> {
    const { podUID, allocation } = allocationFromPod(pod);
    this.#allocations.set(podUID, allocation);
  }

  async setPodResizeStatus(podUID: string, resizeStatus: PodResizeStatus): Promise<void> {
    requireText('podUID', podUID);
    requireOneOf('resizeStatus', resizeStatus, podResizeStatuses);
    if (resizeStatus === '') this.#resizeStatuses.delete(podUID);
    else this.#resizeStatuses.set(podUID, resizeStatus);
  }

  delete(podUID: string): void {
    this.#allocations.delete(podUID);
    this.#resizeStatuses.delete(podUID);
  }

  removeOrphanedPods(remainingPodUIDs: ReadonlySet<string>): void {
    for (const podUID of [...this.#allocations.keys(), ...this.#resizeStatuses.keys()]) {
      if (!remainingPodUIDs.has(podUID)) this.delete(podUID);
    }
  }
}
