import { inspect } from 'node:util';
import type { PodStatus } from '../../kube/objects/types.ts';
import { deepFreeze } from '../../shared/freeze.ts';

/** Why an update was refused. */
export interface Rejection {
  /**
   * The kubelet's message, for example `terminated container app attempted illegal transition to
   * non-terminated state`.
   */
  readonly reason: string;
  /** The container that caused it. */
  readonly container: string;
}

/**
 * Why an update changed nothing:
 * - `unchanged`: the status equals the cached one;
 * - `unknown-pod`: the pod manager does not know the pod (kubelet: "Pod has been deleted");
 * - `no-status`: this run has not set a status of the pod yet; set one first;
 * - `unknown-container`: the cached status has no container with this ID. IDs have a scheme, as in
 *   `containerd://3f4e…`.
 */
export type IgnoredReason = 'unchanged' | 'unknown-pod' | 'no-status' | 'unknown-container';

/** The result of an update: a new version (`changed`), `rejected`, or `ignored`; with `keepTerminated` also both. */
export interface UpdateResult {
  /** The cached status after the call, frozen: the old one when nothing changed, `{}` when there is none. */
  readonly status: PodStatus;
  /** Whether a new version was stored. */
  readonly changed: boolean;
  /** Set if the update was rejected. Nothing has changed then; with `keepTerminated`, everything but the rejected part has. */
  readonly rejected?: Rejection;
  /** Set if there was nothing to change. */
  readonly ignored?: IgnoredReason;
}

/**
 * Freezes `status` on first access: freezing every accepted status would make `setPodStatus` 50%
 * slower, and most callers never read it. `status` is an own property, so that JSON, spread and deep
 * equality include it. All results share one getter: a getter per result takes four times as long.
 */
class LazilyFrozenResult implements UpdateResult {
  declare readonly status: PodStatus;
  declare readonly changed: boolean;
  declare readonly ignored?: IgnoredReason;
  declare readonly rejected?: Rejection;
  readonly #status: PodStatus;

  constructor(status: PodStatus, ignored?: IgnoredReason, rejected?: Rejection) {
    this.#status = status;
    Object.defineProperty(this, 'status', LazilyFrozenResult.#statusProperty);
    this.changed = ignored === undefined;
    if (ignored !== undefined) this.ignored = ignored;
    if (rejected !== undefined) this.rejected = rejected;
  }

  static readonly #statusProperty: PropertyDescriptor & ThisType<LazilyFrozenResult> = {
    enumerable: true,
    get() {
      return deepFreeze(this.#status);
    },
  };

  /** `console.log` shows the status and not `[Getter]`. */
  [inspect.custom](): object {
    return Object.fromEntries(Object.entries(this));
  }
}

/** @param rejected the illegal transition that was not applied */
export function acceptedResult(status: PodStatus, rejected?: Rejection): UpdateResult {
  return new LazilyFrozenResult(status, undefined, rejected);
}

export function ignoredResult(
  status: PodStatus | undefined,
  ignored: IgnoredReason,
  rejected?: Rejection,
): UpdateResult {
  return new LazilyFrozenResult(status ?? {}, ignored, rejected);
}

export function rejectedResult(status: PodStatus | undefined, rejected: Rejection): UpdateResult {
  return { status: deepFreeze(status ?? {}), changed: false, rejected };
}
