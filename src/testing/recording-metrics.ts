import type {
  ContainerType,
  Metrics,
  OutcomeKind,
  PendingResizeCount,
  PriorityBucket,
  ResizeResolution,
  StatusGauges,
} from '../status-manager/metrics.ts';

/** Arguments of `incTerminatedContainers`. */
export interface RecordedTermination {
  readonly containerType: ContainerType;
  readonly exitCode: number;
  readonly reason: string;
}

/** Arguments of `observeDeferredResizeDuration`. */
export interface RecordedDeferredResize {
  readonly resolution: ResizeResolution;
  readonly priorityBucket: PriorityBucket;
  readonly seconds: number;
}

/**
 * Metrics that record every observation in order.
 *
 * @example
 * ```ts
 * import { StatusManager } from 'kubelet-status-manager';
 * import { FakePodClient, RecordingMetrics } from 'kubelet-status-manager/testing';
 *
 * const metrics = new RecordingMetrics();
 * const manager = new StatusManager({ client: new FakePodClient([pod]), podCouldHaveRunningContainers: () => false, metrics });
 * manager.setPodStatus(pod, { phase: 'Running' });
 * await manager.syncBatch(false);
 * console.log(metrics.requests); // ['get ok', 'patch ok']
 * ```
 */
export class RecordingMetrics implements Metrics {
  /** In seconds. */
  readonly syncDurations: number[] = [];
  readonly terminations: RecordedTermination[] = [];
  readonly deferredResizes: RecordedDeferredResize[] = [];
  /** `verb outcome`: `patch ok`. */
  readonly requests: string[] = [];
  /** `2xx`, the HTTP status of a failed request, or `<error>`; one for each of `requests`. */
  readonly requestCodes: string[] = [];
  /** In seconds; one for each of `requests`. */
  readonly requestDurations: number[] = [];
  readonly refusedUpdates: string[] = [];
  unsentAtStop = 0;
  readonly outcomes: OutcomeKind[] = [];
  /** The last counts; undefined when none were set. */
  pendingResizes: readonly PendingResizeCount[] | undefined;
  inProgressResizes: number | undefined;
  #readStatusGauges: (() => StatusGauges) | undefined;

  observePodStatusSyncDuration(seconds: number): void {
    this.syncDurations.push(seconds);
  }

  incTerminatedContainers(containerType: ContainerType, exitCode: number, reason: string): void {
    this.terminations.push({ containerType, exitCode, reason });
  }

  setPendingResizes(counts: readonly PendingResizeCount[]): void {
    this.pendingResizes = counts;
  }

  setInProgressResizes(count: number): void {
    this.inProgressResizes = count;
  }

  observeDeferredResizeDuration(resolution: ResizeResolution, priorityBucket: PriorityBucket, seconds: number): void {
    this.deferredResizes.push({ resolution, priorityBucket, seconds });
  }

  incRequests(verb: string, outcome: string, code: string): void {
    this.requests.push(`${verb} ${outcome}`);
    this.requestCodes.push(code);
  }

  observeRequestDuration(_verb: string, seconds: number): void {
    this.requestDurations.push(seconds);
  }

  incUnsentAtStop(count: number): void {
    this.unsentAtStop += count;
  }

  incRefusedUpdates(reason: string): void {
    this.refusedUpdates.push(reason);
  }

  incOutcomes(outcome: OutcomeKind): void {
    this.outcomes.push(outcome);
  }

  registerStatusGauges(read: () => StatusGauges): () => void {
    this.#readStatusGauges = read;
    return () => {
      this.#readStatusGauges = undefined;
    };
  }

  /** The gauges as they are now; undefined before they are registered, and after the manager has stopped. */
  statusGauges(): StatusGauges | undefined {
    return this.#readStatusGauges?.();
  }
}
