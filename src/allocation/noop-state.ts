import type { State } from './state.ts';

/** Keeps nothing and knows nothing: for agents that never resize. Source: kubelet `state.NewNoopStateCheckpoint`. */
export const noopState: State = Object.freeze({
  getContainerResourceAllocation: () => undefined,
  getPodResizeStatus: () => '',
  setPodAllocation: () => Promise.resolve(),
  setPodResizeStatus: () => Promise.resolve(),
  delete: () => {},
  removeOrphanedPods: () => {},
} satisfies State);
