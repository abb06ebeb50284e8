import { isDeepStrictEqual } from 'node:util';
import type { Pod } from 'kubelet-status-manager';
import type { SeenPod } from './pod-history.ts';
import { isDeletionRequested, isPodFinished, podAnnotation, summarizePod } from './pods.ts';

const expectAnnotation = 'node-agent.kubelet-status-manager.dev/expect';

/** The end state that was expected of a pod, and the one that was found. */
export interface EndState {
  readonly expected: string;
  readonly found: string;
  readonly isExpected: boolean;
}

/** Evaluates a pod by its object on the API server, which is what every other client sees. */
export function evaluateEndState(seen: SeenPod): EndState {
  const expected = expectedEndState(seen);
  return { expected, found: describe(seen), isExpected: isReached(expected, seen) };
}

function isReached(expected: string, { pod, isGone }: SeenPod): boolean {
  if (isGone) return expected === 'Deleted';
  const { phase, readyContainers, totalContainers, restarts } = summarizePod(pod);
  switch (expected) {
    case 'Running':
      return phase === 'Running' && readyContainers === totalContainers;
    case 'Alternating':
      return phase === 'Running' && hasChangedReadiness(pod);
    case 'Restarted':
      return restarts > 0;
    case 'Resized':
      return phase === 'Running' && isResized(pod);
    default:
      return phase === expected;
  }
}

/** It became ready or not ready again after its start. */
function hasChangedReadiness({ status }: Pod): boolean {
  const changedAt = status?.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime;
  return Date.parse(String(changedAt)) - Date.parse(String(status?.startTime)) > 5_000;
}

/** The requests in the spec were changed, and its containers have them. */
function isResized({ metadata, spec, status }: Pod): boolean {
  const requested = spec?.containers?.map(({ resources }) => resources?.requests);
  const actual = status?.containerStatuses?.map(({ resources }) => resources?.requests);
  return (metadata?.generation ?? 1) > 1 && isDeepStrictEqual(requested, actual);
}

/** Once a pod's deletion is requested, it is expected to be gone, whatever its annotation says. */
function expectedEndState({ pod, isGone }: SeenPod): string {
  if (isGone || isDeletionRequested(pod)) return 'Deleted';
  return (
    podAnnotation(pod, expectAnnotation) ??
    ((pod.spec?.restartPolicy ?? 'Always') === 'Always' ? 'Running' : 'Succeeded')
  );
}

function describe({ pod, isGone }: SeenPod): string {
  if (isGone) return 'Deleted';
  const { phase, reason, readyContainers, totalContainers, restarts } = summarizePod(pod);
  return [
    phase,
    !isPodFinished(pod) && `${readyContainers}/${totalContainers} ready`,
    restarts > 0 && `${restarts} restarts`,
    reason,
    containerMessage(pod),
    isDeletionRequested(pod) && 'being deleted',
  ]
    .filter(Boolean)
    .join(', ');
}

function containerMessage({ status }: Pod): string | undefined {
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return statuses.map(({ state }) => state?.waiting?.message ?? state?.terminated?.message).find(Boolean) ?? undefined;
}
