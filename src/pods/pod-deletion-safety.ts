import { isThenable } from '../guarded.ts';
import { type Logger, thrownFields } from '../logger.ts';
import type { Pod } from '../types.ts';

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
      const logFailure = (fields: object): void =>
        logger.error(
          { ...fields, podUID: pod.metadata?.uid },
          'podCouldHaveRunningContainers failed: the pod counts as having running containers',
        );
      let result: unknown;
      try {
        result = provider.podCouldHaveRunningContainers(pod);
      } catch (thrown) {
        logFailure(thrownFields(thrown));
        return true;
      }
      if (typeof result === 'boolean') return result;
      if (isThenable(result)) {
        // Nobody waits for it, and its rejection must not end the process.
        Promise.resolve(result).catch(() => {});
        logFailure({ reason: 'Expected a boolean, got a promise: the method must be synchronous' });
      } else {
        logFailure({ reason: `Expected a boolean, got ${result === null ? 'null' : typeof result}` });
      }
      return true;
    },
  };
}
