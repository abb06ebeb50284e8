import type { PodStatus } from '../kube/types.ts';
import type { StatusManager } from './status-manager.ts';

/** Whoever needs the statuses alone. Source: kubelet `PodStatusProvider`. */
export interface PodStatusProvider {
  /** The cached status, canonical and frozen; undefined when there is none. */
  getPodStatus(podUID: string): PodStatus | undefined;
}

/**
 * The methods and properties of `StatusManager` as an interface, which a fake can have without the
 * class. Code that uses a few of them had better ask for those: `Pick<StatusManagerLike, 'setPodStatus'>`.
 * Source: kubelet `status.Manager`.
 */
export interface StatusManagerLike
  extends PodStatusProvider, Pick<StatusManager, Exclude<keyof StatusManager, typeof Symbol.asyncDispose>> {}
