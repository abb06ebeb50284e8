import { isStaticPod } from '../../kube/pods/static-pods.ts';
import type { Pod } from '../../kube/objects/types.ts';
import type { RecordKubeletMetric } from '../../observe/kubelet-metrics.ts';
import type { PodWorkerState } from '../pod-workers/pod-sync-status.ts';
import type { PodWorkerSync } from '../pod-workers/pod-worker-inspection.ts';

/** What one housekeeping found and did. */
export interface PodCounts {
  readonly desired: readonly Pod[];
  readonly active: readonly Pod[];
  readonly mirrorPods: readonly Pod[];
  readonly restarted: readonly Pod[];
  /** Pods that only the runtime knew. */
  readonly orphaned: number;
  /** Of all pods, those that were restarted and orphaned included. */
  readonly workers: Iterable<PodWorkerSync>;
}

/** The label `lifecycle`. Source: kubelet `PodWorkerState.String`. */
const lifecycles: Readonly<Record<PodWorkerState, string>> = {
  syncing: 'sync',
  terminating: 'terminating',
  terminated: 'terminated',
};

const staticLabels = ['', 'true'] as const;

/** Sets the gauges of pods, and counts restarted and orphaned ones. Source: kubelet `HandlePodCleanups`. */
export function recordPodCounts(
  recordMetric: RecordKubeletMetric,
  { desired, active, mirrorPods, restarted, orphaned, workers }: PodCounts,
): void {
  for (const label of staticLabels) {
    const count = (pods: readonly Pod[]): number =>
      pods.filter((pod) => staticLabel(isStaticPod(pod)) === label).length;
    recordMetric('desired_pods', count(desired), label);
    recordMetric('active_pods', count(active), label);
    recordMetric('restarted_pods_total', count(restarted), label);
  }
  recordMetric('mirror_pods', mirrorPods.length);
  recordMetric('orphaned_runtime_pods_total', orphaned);

  const working = new Map<string, number>();
  for (const worker of workers) {
    const key = workerKey(lifecycles[worker.state], ...labelsOf(worker));
    working.set(key, (working.get(key) ?? 0) + 1);
  }
  const kinds = ['desired', 'orphan'].flatMap((config) => staticLabels.map((label) => [config, label] as const));
  for (const lifecycle of Object.values(lifecycles)) {
    for (const [config, label] of [...kinds, ['runtime_only', 'unknown'] as const])
      recordMetric('working_pods', working.get(workerKey(lifecycle, config, label)) ?? 0, lifecycle, config, label);
  }
}

function staticLabel(isStatic: boolean): (typeof staticLabels)[number] {
  return isStatic ? 'true' : '';
}

/** The labels `config` and `static` of a worker. */
function labelsOf({ hasConfig, isOrphan, isStatic }: PodWorkerSync): [config: string, static_: string] {
  if (!hasConfig) return ['runtime_only', 'unknown'];
  return [isOrphan ? 'orphan' : 'desired', staticLabel(isStatic)];
}

function workerKey(...labels: readonly string[]): string {
  return labels.join('/');
}
