import type { Pod } from '../objects/types.ts';

/** The UIDs of static pods and of their mirror pods, in both directions. */
export interface UIDTranslations {
  /** UID of a static pod → UID of its mirror; `''` when no mirror is known. */
  readonly podToMirror: ReadonlyMap<string, string>;
  readonly mirrorToPod: ReadonlyMap<string, string>;
}

/** State of the informer behind a pod manager. */
export interface InformerState {
  /** The first list is complete. */
  readonly isSynced: boolean;
  /** When the last list, event or bookmark came (RFC 3339); undefined before the first one. */
  readonly lastEventAt: string | undefined;
  /** Number of restarts of failed lists and watches. */
  readonly restarts: number;
  /** Why the pods cannot be listed or watched now, and since when (RFC 3339); absent while they can. */
  readonly failure?: { readonly failingSince: string; readonly reason: string } | undefined;
}

/**
 * The status manager's view of the pods of this node. Returned pods are never mutated: a change is a
 * new object. All methods are synchronous and cheap.
 * Source: kubelet `status.PodManager`.
 */
export interface PodManager {
  /** The pod with this UID; never a mirror pod, and the UID is not translated. */
  getPodByUID(uid: string): Pod | undefined;
  /** The mirror of a static pod, found by namespace and name only. */
  getMirrorPodByPod(pod: Pod): Pod | undefined;
  /** The UID of the static pod when `uid` is its mirror's; else `uid` itself; `''` stays `''`. */
  translatePodUID(uid: string): string;
  /** The translations for all known static pods and mirror pods. */
  getUIDTranslations(): UIDTranslations;
  /**
   * Calls `listener` with the UID of a static pod when its mirror pod becomes known, or is replaced by
   * another. Its status cannot be sent before that. `listener` does not throw.
   * Divergence: the kubelet sends the status at its next tick, as a manager does without this method.
   * @returns unsubscribes
   */
  onMirrorPodAdded?(listener: (podUID: string) => void): () => void;
  /**
   * Whether a complete list, which was not allowed to be stale, has shown that the API server has no pod
   * with this UID; false before the first list. Undefined: the pods are not listed here.
   */
  isGone?(uid: string): boolean | undefined;
  /**
   * Another request to the API server has succeeded: an informer that waits because the server could not be reached tries
   * again. Does not throw.
   */
  requestSucceeded?(): void;
  /** For metrics and `inspect()`. Absent: the pods do not come from an informer. */
  informerState?(): InformerState;
}
