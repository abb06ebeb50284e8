import type { PodManager } from '../../kube/pod-manager/pod-manager.ts';
import type { Pod } from '../../kube/objects/types.ts';
import type { PodRecord } from './pod-records.ts';
import type { OutcomeSubject } from './status-outcome.ts';

/**
 * Records Kubernetes Events (option `eventRecorder`). `APIEventRecorder` of
 * `kubelet-status-manager/agent` implements it. Source: client-go `record.EventRecorder`.
 */
export interface StatusEventRecorder {
  /** Records one Event about a pod without blocking. Errors that it throws are logged. */
  event(event: PodStatusEvent): void;
}

/** An Event about a pod's status. Each condition is recorded once, not at each retry. */
export interface PodStatusEvent {
  /** The pod manager's pod, or only its metadata if unknown. For a static pod, not its mirror pod. */
  readonly pod: Pod;
  /** As `kubectl get events` shows it. */
  readonly type: 'Warning';
  /** CamelCase reason. */
  readonly reason: PodStatusEventReason;
  /** Human-readable. */
  readonly message: string;
}

/**
 * - `FailedStatusUpdate`: the API server refuses the status (422 or another 4xx), or has returned 403
 *   for 30 s. Recorded again only after a successful write.
 * - `StatusHotLoop`: the API server accepts a status but does not keep it. Recorded once per pod.
 * - `StuckTerminating`: the pod has waited for a minute for `podDeletionSafety` or for finalizers, or
 *   the API server refuses its DELETE. Recorded once for each cause.
 */
export type PodStatusEventReason = 'FailedStatusUpdate' | 'StatusHotLoop' | 'StuckTerminating';

/** Records each condition of a pod once. Without a recorder every method does nothing. */
export class StatusEvents {
  readonly #recorder: StatusEventRecorder | undefined;
  readonly #podManager: PodManager;

  constructor(recorder: StatusEventRecorder | undefined, podManager: PodManager) {
    this.#recorder = recorder;
    this.#podManager = podManager;
  }

  record(
    record: PodRecord,
    { podUID: uid, podNamespace: namespace, podName: name }: OutcomeSubject,
    { reason, message, condition = reason }: NewStatusEvent,
  ): void {
    if (this.#recorder === undefined || record.recordedEvents?.has(condition) === true) return;
    record.recordedEvents ??= new Set();
    record.recordedEvents.add(condition);
    const pod = this.#podManager.getPodByUID(uid) ?? { metadata: { uid, namespace, name } };
    this.#recorder.event({ pod, type: 'Warning', reason, message });
  }

  /** The condition has ended; its next occurrence is recorded again. */
  ended(record: PodRecord, condition: string): void {
    if (record.recordedEvents?.delete(condition) === true && record.recordedEvents.size === 0)
      record.recordedEvents = undefined;
  }
}

/** An Event to record. */
export interface NewStatusEvent {
  readonly reason: PodStatusEventReason;
  readonly message: string;
  /** Key that is recorded once until `ended`; default: the reason. */
  readonly condition?: string | undefined;
}
