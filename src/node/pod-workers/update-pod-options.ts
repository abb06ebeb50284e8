import type { PodStatusInput, ValidPod } from '../../kube/objects/types.ts';
import type { RuntimePod } from '../runtime/container-runtime.ts';

/** Why a pod must be synced: it is new, it changed, a sync is due, or it must be killed. Source: kubelet `SyncPodType`. */
export type SyncPodType = 'create' | 'update' | 'sync' | 'kill';

/** Changes the status that a terminating pod reports, for example to Failed with a reason. Source: kubelet `PodStatusFunc`. */
export type PodStatusFn = (status: PodStatusInput) => PodStatusInput;

/** How to kill a pod. Source: kubelet `KillPodOptions`. */
export interface KillPodOptions {
  /** True when the agent evicts the pod: its content may then be removed before the pod is deleted. Default: false. */
  readonly evict?: boolean | undefined;
  /** Applied to the statuses that the pod reports while it is terminating; the latest one is used. */
  readonly podStatusFn?: PodStatusFn | undefined;
  /** Used if it is shorter than the grace period in effect. */
  readonly podTerminationGracePeriodSecondsOverride?: number | undefined;
  /** Called once: when the pod has no running containers, or if this update does not kill it. */
  readonly onCompleted?: (() => void) | undefined;
}

/** One of `pod` and `runningPod` is required. Source: kubelet `UpdatePodOptions`. */
export interface UpdatePodOptions {
  readonly updateType: SyncPodType;
  readonly pod?: ValidPod | undefined;
  /** The API server's object for a static pod. */
  readonly mirrorPod?: ValidPod | undefined;
  /** A pod that only the runtime knows: it can only be killed. Ignored when `pod` is given. */
  readonly runningPod?: RuntimePod | undefined;
  /** Used for updates of type `kill`, and for pods that are terminating. */
  readonly killPodOptions?: KillPodOptions | undefined;
}

/** One unit of work for a worker. */
export interface PodUpdate {
  readonly updateType: SyncPodType;
  readonly pod: ValidPod | undefined;
  readonly mirrorPod: ValidPod | undefined;
  readonly runningPod: RuntimePod | undefined;
}

/** The pod object of a pod that only the runtime knows. Source: kubelet `Pod.ToAPIPod`. */
export function toAPIPod({ uid, name, namespace, containers }: RuntimePod): ValidPod {
  const names = new Set(containers.map((container) => container.name));
  return {
    metadata: { uid, name, namespace },
    spec: { containers: [...names].map((container) => ({ name: container })) },
  };
}
