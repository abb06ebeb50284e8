import type { AllocationState } from './allocation-state.ts';

/** Stores nothing: for agents that never resize pods. Source: kubelet `state.NewNoopStateCheckpoint`. */
export const noopState: AllocationState = Object.freeze({
  getContainerResourceAllocation: () => undefined,
  getPodLevelResourceAllocation: () => undefined,
  getPodResizeStatus: () => '',
  setPodAllocation: () => Promise.resolve(),
  setPodResizeStatus: () => Promise.resolve(),
  delete: () => {},
  removeOrphanedPods: () => {},
} satisfies AllocationState);
