import type { PodManager } from '../../kube/pod-manager.ts';
import type { Pod } from '../../kube/types.ts';
import type { OutcomeSubject } from './outcomes.ts';

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
 * - `StatusContested`: the API server accepts a status but does not keep it. Recorded once per pod.
 * - `StuckTerminating`: the pod has waited for a minute for `podDeletionSafety` or for finalizers, or
 *   the API server refuses its DELETE. Recorded once for each cause.
 */
export type PodStatusEventReason = 'FailedStatusUpdate' | 'StatusContested' | 'StuckTerminating';

/** Records each condition of a pod once. Without a recorder every method does nothing. */
export class StatusEvents {
  readonly #recorder: StatusEventRecorder | undefined;
  readonly #podManager: PodManager;
  /** Pod UID → recorded conditions that still hold. */
  readonly #recorded = new Map<string, Set<string>>();

  constructor({ eventRecorder, podManager }: StatusEventsOptions) {
    this.#recorder = eventRecorder;
    this.#podManager = podManager;
  }

  /** @param condition key that is recorded once until `ended`; default: the reason */
  record(subject: OutcomeSubject, reason: PodStatusEventReason, message: string, condition: string = reason): void {
    if (this.#recorder === undefined) return;
    const { podUID: uid, podNamespace: namespace, podName: name } = subject;
    const recorded = this.#recorded.get(uid) ?? new Set();
    if (recorded.has(condition)) return;
    this.#recorded.set(uid, recorded.add(condition));
    const pod = this.#podManager.getPodByUID(uid) ?? { metadata: { uid, namespace, name } };
    this.#recorder.event({ pod, type: 'Warning', reason, message });
  }

  /** The condition has ended; its next occurrence is recorded again. */
  ended(uid: string, condition: string): void {
    this.#recorded.get(uid)?.delete(condition);
  }

  /** The pod's status was dropped. */
  forget(uid: string): void {
    this.#recorded.delete(uid);
  }
}

export interface StatusEventsOptions {
  readonly eventRecorder: StatusEventRecorder | undefined;
  readonly podManager: PodManager;
}
