import { StatusManagerError } from '../errors.ts';
import type { Pod, ResourceRequirements } from '../types.ts';
import { allocationFromPod, type PodAllocation } from './pod-allocation.ts';
import {
  isPodResizeStatus,
  podResizeStatuses,
  type PodResizeStatus,
  type AllocationState,
} from './allocation-state.ts';

/** Allocations that end with the process. Source: kubelet `state.NewStateMemory`. */
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

  getPodResizeStatus(podUID: string): PodResizeStatus {
    return this.#resizeStatuses.get(podUID) ?? '';
  }

  async setPodAllocation(pod: Pod): Promise<void> {
    const { podUID, allocation } = allocationFromPod(pod);
    this.#allocations.set(podUID, allocation);
  }

  async setPodResizeStatus(podUID: string, resizeStatus: PodResizeStatus): Promise<void> {
    if (typeof podUID !== 'string' || podUID === '') throw invalid('podUID', 'a non-empty string');
    if (!isPodResizeStatus(resizeStatus)) {
      throw invalid('resizeStatus', `one of '${podResizeStatuses.join("', '")}'`);
    }
    if (resizeStatus === '') this.#resizeStatuses.delete(podUID);
    else this.#resizeStatuses.set(podUID, resizeStatus);
  }

  delete(podUID: string): void {
    this.#allocations.delete(podUID);
    this.#resizeStatuses.delete(podUID);
  }
}

function invalid(path: string, expected: string): StatusManagerError {
  return new StatusManagerError('INVALID_ARGUMENT', `Expected \`${path}\` to be ${expected}`, { path });
}
