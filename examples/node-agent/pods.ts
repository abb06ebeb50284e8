import type { Pod, PodStatus } from 'kubelet-status-manager';

/** On a cluster with other nodes, only pods that carry this annotation with the value `process` are run. */
export const runAnnotation = 'kubelet-status-manager.dev/run';

/** `namespace/name`. */
export function podName(pod: Pod): string {
  return `${pod.metadata?.namespace}/${pod.metadata?.name}`;
}

export function podUID(pod: Pod): string {
  return pod.metadata?.uid ?? '';
}

/** The UID that the agent knows a pod by: for a mirror pod, that of its static pod. */
export function uidOnNode(pod: Pod): string {
  return podAnnotation(pod, 'kubernetes.io/config.mirror') ?? podUID(pod);
}

export function podAnnotation(pod: Pod, name: string): string | undefined {
  return pod.metadata?.annotations?.[name];
}

export function isDeletionRequested(pod: Pod): boolean {
  return Boolean(pod.metadata?.deletionTimestamp);
}

/** Whether the pod has reached a terminal phase. */
export function isPodFinished(pod: Pod): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
}

/** A pod's status in a few words, for people. */
export interface PodSummary {
  readonly phase: string;
  /** The pod's reason, otherwise that of the first container that has one. */
  readonly reason: string;
  readonly readyContainers: number;
  readonly totalContainers: number;
  readonly restarts: number;
}

/** Counts as `kubectl get pods` does: regular containers and sidecars, and the restarts of init containers too. */
export function summarizePod(pod: Pod, status = pod.status as PodStatus | undefined): PodSummary {
  const sidecars = new Set(
    pod.spec?.initContainers?.filter(({ restartPolicy }) => restartPolicy === 'Always').map(({ name }) => name),
  );
  const initStatuses = status?.initContainerStatuses ?? [];
  const regularStatuses = status?.containerStatuses ?? [];
  const counted = [...initStatuses.filter(({ name }) => sidecars.has(name)), ...regularStatuses];
  const all = [...initStatuses, ...regularStatuses];
  const reasons = all
    .map(({ state }) => state.waiting?.reason ?? state.terminated?.reason)
    .filter((reason) => reason && reason !== 'Completed');
  return {
    phase: status?.phase ?? 'Pending',
    reason: status?.reason ?? reasons[0] ?? '',
    readyContainers: counted.filter(({ ready }) => ready).length,
    totalContainers: (pod.spec?.containers?.length ?? 0) + sidecars.size,
    restarts: all.reduce((sum, { restartCount }) => sum + restartCount, 0),
  };
}
