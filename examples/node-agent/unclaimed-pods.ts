import type { Logger, Pod } from 'kubelet-status-manager';
import type { EventRecorder } from 'kubelet-status-manager/agent';
import { podName, podUID, runAnnotation } from './pods.ts';

const message = `The node agent of this node runs only pods with the annotation ${runAnnotation}: process`;

/**
 * Reports pods that the agent does not run, with one warning in the log and one Event for each pod.
 * Otherwise such a pod would stay Pending without any explanation.
 */
export class UnclaimedPods {
  readonly #eventRecorder: EventRecorder;
  readonly #logger: Pick<Logger, 'warn'>;
  readonly #reported = new Set<string>();

  constructor(eventRecorder: EventRecorder, logger: Pick<Logger, 'warn'>) {
    this.#eventRecorder = eventRecorder;
    this.#logger = logger;
  }

  handlePod(pod: Pod): void {
    if (this.#reported.has(podUID(pod))) return;
    this.#reported.add(podUID(pod));
    this.#logger.warn({ pod: podName(pod), podUID: podUID(pod) }, message);
    this.#eventRecorder.event({ pod, type: 'Warning', reason: 'NotRun', message });
  }

  handleRemovedPod(pod: Pod): void {
    this.#reported.delete(podUID(pod));
  }
}
