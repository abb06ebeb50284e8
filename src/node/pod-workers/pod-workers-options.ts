import type { Measured, NodeContext } from '../node-context.ts';
import type { AllocationState } from '../../status-manager/allocation/allocation-state.ts';
import type { Clock } from '../../shared/clock.ts';
import type { PodEventRecorder } from '../events/event-recorder.ts';
import type { PodSyncStatuses } from './pod-sync-statuses.ts';
import type { PodCache, PodLifecycleSyncer } from './pod-lifecycle-syncer.ts';

/** Options of `PodWorkers`. */
export interface PodWorkersOptions extends Pick<NodeContext, 'logger' | 'random'>, Measured {
  readonly statuses: PodSyncStatuses;
  /** What the workers do with pods. */
  readonly podSyncer: PodLifecycleSyncer;
  readonly podCache: PodCache;
  /** Pods are synced with the resources that are allocated to them. */
  readonly allocationState: AllocationState;
  /** Called when a pod has changed in the runtime, so that it is observed soon. */
  readonly requestRelist: (podUID: string) => void;
  readonly clock: Pick<Clock, 'afterFunc' | 'now' | 'monotonicMs'>;
  readonly eventRecorder: PodEventRecorder;
}
