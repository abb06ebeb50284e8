import type { PodManager } from '../../kube/pod-manager.ts';
import { canonicalPodStatus } from '../status/canonical.ts';
import { normalizeStatus } from '../status/normalize.ts';
import type { ValidPod } from '../../kube/types.ts';
import type { PodStatusCache } from './pod-status-cache.ts';

/**
 * After a restart: caches the API server's statuses of these pods as version 1, marked as sent. Skips
 * pods that have a cached status or no phase.
 * @returns number of adopted statuses
 */
export function adoptServerStatuses(
  cache: PodStatusCache,
  podManager: PodManager,
  pods: Iterable<ValidPod>,
  nowMs: number,
): number {
  let adopted = 0;
  for (const pod of pods) {
    const { uid: apiUID, namespace, name } = pod.metadata;
    const uid = podManager.translatePodUID(apiUID);
    if (cache.has(uid) || !pod.status?.phase) continue;
    const status = normalizeStatus(pod, canonicalPodStatus(pod.status, { strict: false, unique: true }));
    const next = { podNamespace: namespace, podName: name, podIsFinished: false, status, urgent: false };
    cache.markSent(uid, apiUID, cache.set(uid, next, nowMs), { readAtMs: nowMs, atMs: nowMs, as: 'adopted' });
    adopted++;
  }
  return adopted;
}
