import type { PodClient } from '../../kube/client/pod-client.ts';
import type { PodManager } from '../../kube/pod-manager/pod-manager.ts';
import type { Pod } from '../../kube/objects/types.ts';
import type { Clock } from '../../shared/clock.ts';
import type { CriticalSection } from '../../shared/critical-section.ts';
import type { Logger } from '../../shared/logger.ts';
import type { PodStatusCache } from '../cache/pod-status-cache.ts';
import type { Metrics } from '../metrics.ts';
import type { PodDeletionSafety } from '../pod-deletion-safety.ts';
import type { Tracing } from '../tracing.ts';
import type { ClientLimiter } from './client-limiter.ts';
import type { PatchStrategy } from './decide.ts';
import type { Outcomes } from './outcomes.ts';
import type { PodRecords } from './pod-records.ts';
import type { StatusEventRecorder } from './status-events.ts';

/** Notified of each status that reached the API server. Source: kubelet `PodStartupLatencyStateHelper`. */
export interface PodStartupLatency {
  /**
   * A status was written.
   * @param pod the pod in the API server's response to the PATCH
   */
  recordStatusUpdated(pod: Pod): void;
  /** The pod is gone. */
  deletePodStartupState(podUID: string): void;
}

/** When a pod is read before it is patched: see the option `readBeforePatch`. */
export type ReadBeforePatch = 'always' | 'when-stale';

/** What the manager gives to the parts of the sync: the records of the pods, the cache, its ports and options. */
export interface SyncPorts {
  readonly records: PodRecords;
  /** Delays calls of the ports until the state is complete. */
  readonly section: CriticalSection;
  readonly cache: PodStatusCache;
  readonly client: PodClient;
  readonly podManager: PodManager;
  readonly podDeletionSafety: PodDeletionSafety;
  readonly podStartupLatency: PodStartupLatency | undefined;
  readonly eventRecorder: StatusEventRecorder | undefined;
  readonly outcomes: Outcomes;
  readonly tracing: Tracing;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Returns a number in [0, 1) for the jitter. */
  readonly random: () => number;
  readonly limiter: ClientLimiter;
  readonly syncPeriodMs: number;
  readonly concurrency: number;
  readonly requestTimeoutMs: number;
  readonly readBeforePatch: ReadBeforePatch;
  readonly patchStrategy: PatchStrategy;
  /** The pod's newest version has reached the API server; its terminal phase was not held back, and no DELETE is due. */
  readonly onSettled: (uid: string) => void;
  /** Forgets everything about a pod that is gone. kubelet: `deletePodStatus`. */
  readonly deletePodStatus: (uid: string, reason: 'deleted' | 'removed' | 'recreated') => void;
  /** The API object of a pod that finalizers had kept is gone. */
  readonly apiObjectGone: (uid: string) => void;
  /** Forgets a status from the journal, but not the allocation and the resize of its pod, which lives on. */
  readonly dropOutdatedStatus: (uid: string) => void;
}
