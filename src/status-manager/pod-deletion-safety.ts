import { refuseArgument, requireObject } from '../shared/errors.ts';
import { isThenable } from '../shared/guarded.ts';
import { type Logger, thrownFields } from '../shared/logger.ts';
import { plainCopy } from '../shared/plain-data.ts';
import { requireText } from '../shared/validate.ts';
import type { Pod } from '../kube/objects/types.ts';

/**
 * Says whether a pod may still have containers running.
 * Source: kubelet `PodDeletionSafetyProvider`.
 */
export interface PodDeletionSafety {
  /**
   * True while a container of `pod` runs or may start. While it is true, a pod's phase is not moved
   * from non-terminal to terminal. Must be cheap, synchronous and not throw: when it throws, or returns
   * anything but a boolean, an error is logged and the result counts as true.
   */
  podCouldHaveRunningContainers(pod: Pod): boolean;
  /**
   * The pods whose containers are being stopped, for `inspect()`, `explain()`, the metrics and the log. Must be
   * synchronous. Absent: they are not shown.
   */
  terminations?(): readonly PodTermination[];
}

/** A pod whose containers are being stopped. Times are RFC 3339. */
export interface PodTermination {
  readonly podUID: string;
  /** When it was requested. */
  readonly since: string;
  readonly gracePeriodSeconds: number;
  readonly gracePeriodEndsAt: string;
  /** False when all containers have stopped, and only the sandbox of the pod is left, for example its network. Default: true. */
  readonly hasRunningContainers?: boolean | undefined;
  /** Why the last try to stop them failed; undefined if none did. */
  readonly lastError: string | undefined;
}

/** What keeps the pod from terminating. */
export function terminationWaitOf({ hasRunningContainers = true }: PodTermination): 'containers' | 'sandbox' {
  return hasRunningContainers ? 'containers' : 'sandbox';
}

/** By pod UID. */
export function terminationsOf(provider: PodDeletionSafety): ReadonlyMap<string, PodTermination> {
  return new Map(provider.terminations?.().map((termination) => [termination.podUID, termination]));
}

/** A safety provider that never throws; the result is true unless the given provider returns false. */
export function guardedPodDeletionSafety(provider: PodDeletionSafety, logger: Logger): PodDeletionSafety {
  return {
    podCouldHaveRunningContainers(pod) {
      let failure: object;
      try {
        const result: unknown = provider.podCouldHaveRunningContainers(pod);
        if (typeof result === 'boolean') return result;
        // A promise is not awaited, and its rejection must not end the process.
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
    terminations() {
      try {
        return requireTerminations(plainCopy(provider.terminations?.() ?? [], 'terminations()'));
      } catch (thrown) {
        logger.error(thrownFields(thrown), 'User callback threw');
        return [];
      }
    },
  };
}

function requireTerminations(terminations: unknown): readonly PodTermination[] {
  if (!Array.isArray(terminations)) refuseArgument('terminations()', 'a list', terminations);
  for (const [i, termination] of (terminations as readonly unknown[]).entries()) {
    const path = `terminations()[${i}]`;
    requireObject(path, termination);
    const { podUID, since, gracePeriodEndsAt } = termination as Partial<PodTermination>;
    for (const [field, value] of Object.entries({ podUID, since, gracePeriodEndsAt }))
      requireText(`${path}.${field}`, value);
  }
  return terminations;
}

function kindOf(result: unknown): string {
  if (isThenable(result)) return 'a promise: the method must be synchronous';
  return result === null ? 'null' : typeof result;
}
