import { podFieldsOf } from '../../kube/log-fields.ts';
import type { ValidPod } from '../../kube/types.ts';
import { FailureLog, type FailureLogOptions } from '../../shared/failure-log.ts';

/**
 * Logs an operation that may fail for some pods and not for others: it has recovered when it fails for none any more.
 */
export class FailingPods {
  readonly #uids = new Set<string>();
  readonly #failures: FailureLog;

  constructor(options: FailureLogOptions) {
    this.#failures = new FailureLog(options);
  }

  failed(pod: ValidPod, error: unknown): void {
    this.#uids.add(pod.metadata.uid);
    this.#failures.failed(error, podFieldsOf(pod));
  }

  succeeded(podUID: string): void {
    if (this.#uids.delete(podUID) && this.#uids.size === 0) this.#failures.succeeded();
  }

  /** The pod has ended. */
  forget(podUID: string): void {
    if (this.#uids.delete(podUID) && this.#uids.size === 0) this.#failures.reset();
  }
}
