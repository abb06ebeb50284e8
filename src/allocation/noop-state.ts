import type { AllocationState } from './allocation-state.ts';

/** Keeps nothing and knows nothing: for agents that never resize. Source: kubelet `state.NewNoopStateCheckpoint`. */
export const noopState: AllocationState = Object.freeze({
  getContainerResourceAllocation: () => undefined,
  getPodResizeStatus: () => '',
  setPodAllocation: () => Promise.resolve(),
  setPodResizeStatus: () => Promise.resolve(),
  delete: () => {},
} satisfies AllocationState);
