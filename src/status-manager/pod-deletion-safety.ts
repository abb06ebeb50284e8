import { isThenable } from '../shared/guarded.ts';
import { type Logger, thrownFields } from '../shared/logger.ts';
import type { Pod } from '../kube/types.ts';

/**
 * Says whether a pod may still have containers running.
 * Source: kubelet `PodDeletionSafetyProvider`.
 */
export interface PodDeletionSafety {
  /**
   * True while a container of `pod` runs or may start. While it is true, a pod's phase is not
   * moved from non-terminal to terminal. Must be cheap, synchronous and not throw: when it throws,
   * or returns a promise or anything else that is no boolean, an error is logged and the result
   * counts as true.
   */
  podCouldHaveRunningContainers(pod: Pod): boolean;
}

/** A safety provider that never throws: containers could be running unless the given one says that they cannot. */
export function guardedPodDeletionSafety(provider: PodDeletionSafety, logger: Logger): PodDeletionSafety {
  return {
    podCouldHaveRunningContainers(pod) {
      let failure: object;
      try {
        const result: unknown = provider.podCouldHaveRunningContainers(pod);
        if (typeof result === 'boolean') return result;
        // Nobody waits for a promise, and its rejection must not end the process.
        if (isThenable(result)) Promise.resolve(result).catch(() => {});
        failure = { reason: `Expected a boolean, got ${kindOf(result)}` };
      } catch (thrown) {
        failure = thrownFields(thrown);
      }
      logger.error(
        { ...failure, podUID: pod.metadata?.uid },
        'podCouldHaveRunningContainers failed: the pod counts as having running containers',
      );
      return true;
    },
  };
}

function kindOf(result: unknown): string {
  if (isThenable(result)) return 'a promise: the method must be synchronous';
  return result === null ? 'null' : typeof result;
}
