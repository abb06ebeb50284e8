import type { PodStatus } from '../kube/objects/types.ts';
import type { StatusManager } from './status-manager.ts';

/** Read-only view of the statuses. Source: kubelet `PodStatusProvider`. */
export interface PodStatusProvider {
  /** The cached status, canonical and frozen; undefined when there is none. */
  getPodStatus(podUID: string): PodStatus | undefined;
}

/**
 * The methods and properties of `StatusManager` as an interface, so that a fake can implement them.
 * Code that uses only a few should require only these: `Pick<StatusManagerLike, 'setPodStatus'>`.
 * Source: kubelet `status.Manager`.
 */
export interface StatusManagerLike
  extends PodStatusProvider, Pick<StatusManager, Exclude<keyof StatusManager, typeof Symbol.asyncDispose>> {}
