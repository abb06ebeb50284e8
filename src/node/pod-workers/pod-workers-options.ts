import type { AllocationState } from '../../status-manager/allocation/allocation-state.ts';
import type { RecordKubeletMetric } from '../../observe/kubelet-metrics.ts';
import type { Clock } from '../../shared/clock.ts';
import type { Logger } from '../../shared/logger.ts';
import type { PodEventRecorder } from '../events/event-recorder.ts';
import type { PodSyncStatuses } from './pod-sync-statuses.ts';
import type { PodCache, PodLifecycleSyncer } from './pod-syncer.ts';

/** Options of `PodWorkers`. */
export interface PodWorkersOptions {
  readonly statuses: PodSyncStatuses;
  /** What the workers do with pods. */
  readonly podSyncer: PodLifecycleSyncer;
  readonly podCache: PodCache;
  /** Pods are synced with the resources that are allocated to them. */
  readonly allocationState: AllocationState;
  /** Called when a pod has changed in the runtime, so that it is observed soon. */
  readonly requestRelist: (podUID: string) => void;
  readonly clock: Pick<Clock, 'afterFunc' | 'now' | 'monotonicMs'>;
  readonly logger: Logger;
  readonly eventRecorder: PodEventRecorder;
  /** Default: nothing is measured. */
  readonly recordMetric?: RecordKubeletMetric | undefined;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
}
