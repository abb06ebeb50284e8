import type { PodManager } from '../../kube/pod-manager.ts';
import type { Pod } from '../../kube/types.ts';
import type { OutcomeSubject } from './outcomes.ts';

/**
 * Records Kubernetes Events; the option `eventRecorder`. The `EventRecorder` of
 * `kubelet-status-manager/agent` is one. Source: client-go `record.EventRecorder`.
 */
export interface StatusEventRecorder {
  /** Records one Event about a pod. Returns immediately; what it throws is logged. */
  event(event: PodStatusEvent): void;
}

/** What a user of the pod must know. Each condition is recorded once, not at each retry. */
export interface PodStatusEvent {
  /** As the pod manager shows it; its metadata alone when it does not. The static pod, not its mirror pod. */
  readonly pod: Pod;
  /** As `kubectl get events` shows it. */
  readonly type: 'Warning';
  /** In a word. */
  readonly reason: PodStatusEventReason;
  /** For a person to read. */
  readonly message: string;
}

/**
 * - `FailedStatusUpdate`: the API server refuses the status (422 or another 4xx), or has forbidden to
 *   read or write it for 30 s (403). Recorded again only after a status was written in between.
 * - `StatusContested`: the API server takes a status and does not keep it. Recorded once for each pod.
 * - `StuckTerminating`: the pod has waited for a minute for `podDeletionSafety` or for finalizers, or
 *   the API server refuses its DELETE. Recorded once for each cause.
 */
export type PodStatusEventReason = 'FailedStatusUpdate' | 'StatusContested' | 'StuckTerminating';

/** Records each condition of a pod once. Without a recorder every method does nothing. */
export class PodEvents {
  readonly #recorder: StatusEventRecorder | undefined;
  readonly #podManager: PodManager;
  /** Pod UID → the conditions that were recorded and have not ended. */
  readonly #recorded = new Map<string, Set<string>>();

  constructor({ eventRecorder, podManager }: PodEventsOptions) {
    this.#recorder = eventRecorder;
    this.#podManager = podManager;
  }

  /** @param condition what is recorded once until it ends; default: the reason */
  record(subject: OutcomeSubject, reason: PodStatusEventReason, message: string, condition: string = reason): void {
    if (this.#recorder === undefined) return;
    const { podUID: uid, podNamespace: namespace, podName: name } = subject;
    const recorded = this.#recorded.get(uid) ?? new Set();
    if (recorded.has(condition)) return;
    this.#recorded.set(uid, recorded.add(condition));
    const pod = this.#podManager.getPodByUID(uid) ?? { metadata: { uid, namespace, name } };
    this.#recorder.event({ pod, type: 'Warning', reason, message });
  }

  /** The condition is over: it is recorded when it comes again. */
  ended(uid: string, condition: string): void {
    this.#recorded.get(uid)?.delete(condition);
  }

  /** The pod's status was dropped. */
  forget(uid: string): void {
    this.#recorded.delete(uid);
  }
}

export interface PodEventsOptions {
  readonly eventRecorder: StatusEventRecorder | undefined;
  readonly podManager: PodManager;
}
