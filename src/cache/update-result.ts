import { inspect } from 'node:util';
import type { PodStatus } from '../types.ts';
import { deepFreeze } from './freeze.ts';

/** Why an update was refused. */
export interface Rejection {
  /** The kubelet's words, for example `terminated container app attempted illegal transition to non-terminated state`. */
  readonly reason: string;
  /** The container it is about. */
  readonly container: string;
}

/**
 * Why an update changed nothing:
 * - `unchanged`: the cached status says the same;
 * - `unknown-pod`: the pod manager does not know the pod (kubelet: "Pod has been deleted");
 * - `no-status`: the pod has no cached status yet; set one first;
 * - `unknown-container`: the cached status has no container with this ID. IDs have a scheme, as in
 *   `containerd://3f4e…`.
 */
export type IgnoredReason = 'unchanged' | 'unknown-pod' | 'no-status' | 'unknown-container';

/** The result of an update: a new version (`changed`), `rejected`, or `ignored`. */
export interface UpdateResult {
  /** The cached status after the call, frozen: the old one when nothing changed, `{}` when there is none. */
  readonly status: PodStatus;
  /** True when a new version was stored. */
  readonly changed: boolean;
  /** Set when the update was refused; nothing has changed then. */
  readonly rejected?: Rejection;
  /** Set when there was nothing to change. */
  readonly ignored?: IgnoredReason;
}

/** `console.log` shows the status and not `[Getter]`. */
const resultPrototype = {
  [inspect.custom](this: UpdateResult): object {
    return { ...this };
  },
};

/*
 * `status` is an own getter: freezing every accepted status would take half as long again as setting
 * it, and most callers never look.
 */

export function acceptedResult(status: PodStatus): UpdateResult {
  const result = {
    __proto__: resultPrototype,
    get status() {
      return deepFreeze(status);
    },
    changed: true,
  };
  return result;
}

export function ignoredResult(status: PodStatus | undefined, ignored: IgnoredReason): UpdateResult {
  const result = {
    __proto__: resultPrototype,
    get status() {
      return deepFreeze(status ?? {});
    },
    changed: false,
    ignored,
  };
  return result;
}

export function rejectedResult(status: PodStatus | undefined, rejected: Rejection): UpdateResult {
  return { status: deepFreeze(status ?? {}), changed: false, rejected };
}
