import isEqualWith from 'lodash/isEqualWith.js';
import type { JSONPatchOperation, PodStatusChanges, PodStatusPatch } from '../../kube/client/pod-client.ts';
import { statusFields } from '../../shared/log-fields.ts';
import type { Logger } from '../../shared/logger.ts';
import type { VersionedPodStatus } from '../cache/pod-status-cache.ts';
import { managersOf } from '../status/managed-fields.ts';
import type { Pod } from '../../kube/types.ts';

/** A hot loop: the members affected and their owners. */
export interface HotLoop {
  /** Top-level status members in each patch. */
  readonly members: readonly string[];
  /**
   * Other field managers that own these members. Empty if the API server or a webhook changes them, if
   * the other writer uses our field manager, or without managedFields.
   */
  readonly managers: readonly string[];
  readonly timesSent: number;
}

/** The pod and the version that a patch is about. */
export type SentVersion = Pick<VersionedPodStatus, 'podName' | 'podNamespace' | 'version'>;

interface LastPatch {
  readonly version: number;
  readonly changes: unknown;
  timesSent: number;
  /** Set once the threshold is reached, and kept for later versions until the API server keeps one. */
  hotLoop?: HotLoop | undefined;
}

/** This many identical patches for one version are a hot loop. */
export const hotLoopThreshold = 3;

/**
 * Detects hot loops: the API server accepts a patch but later shows the old status, because it drops a
 * member or another writer overwrites it.
 * Divergence: the kubelet patches again at every tick.
 */
export class ResendDetector {
  readonly #lastPatches = new Map<string, LastPatch>();
  readonly #logger: Logger;
  /** Our field manager on the API server; undefined until a PATCH shows it. */
  #ownManager: string | undefined;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /**
   * @param before the object before the patch: after it, we own the disputed members
   * @param after the object in the response
   * @returns how often this body (ignoring times) has been sent for this version, including now
   */
  sent(uid: string, sent: SentVersion, patch: PodStatusPatch, before: Pod, after: Pod): number {
    const { version } = sent;
    this.#ownManager ??= ownManagerOf(after, patch);
    const last = this.#lastPatches.get(uid);
    const changes = changesOf(patch);
    if (last === undefined || last.version !== version || !isEqualIgnoringTimes(last.changes, changes)) {
      this.#lastPatches.set(uid, { version, changes, timesSent: 1, hotLoop: last?.hotLoop });
      return 1;
    }
    last.timesSent++;
    if (last.timesSent < hotLoopThreshold) return last.timesSent;
    const members = patchedMembers(patch);
    const managers = managersOf(before, touchedBy(patch)).filter((name) => name !== this.#ownManager);
    const isNew = last.hotLoop === undefined;
    last.hotLoop = { members, managers, timesSent: last.timesSent };
    if (isNew) {
      this.#logger.warn(
        { ...statusFields(uid, sent), members, managers },
        hasOnlyTimes(changes)
          ? 'Terminal pod still has Ready=True cached; each sync rewrites it. Backing off'
          : 'The API server does not keep what is written into the pod status; backing off',
      );
    }
    return last.timesSent;
  }

  /** Number of pods in a hot loop. */
  get contestedPods(): number {
    let count = 0;
    for (const { hotLoop } of this.#lastPatches.values()) if (hotLoop !== undefined) count++;
    return count;
  }

  /** The pod's hot loop; undefined without one, or once the API server has kept a patch. */
  hotLoopOf(uid: string): HotLoop | undefined {
    return this.#lastPatches.get(uid)?.hotLoop;
  }

  /** The API server has preserved the written status. */
  kept(uid: string, versioned: Parameters<typeof statusFields>[1]): void {
    const hotLoop = this.hotLoopOf(uid);
    this.forget(uid);
    if (hotLoop !== undefined)
      this.#logger.warn(
        { ...statusFields(uid, versioned), members: hotLoop.members, managers: hotLoop.managers },
        'The API server preserves written pod statuses again',
      );
  }

  /** Resets the pod: it is gone, or is retried from scratch. */
  forget(uid: string): void {
    this.#lastPatches.delete(uid);
  }
}

/** The members that a patch writes, in the form that `managersOf` takes. */
function touchedBy(patch: PodStatusPatch): object {
  if ('status' in patch.body) return patch.body.status ?? {};
  return Object.fromEntries(patchedMembers(patch).map((name) => [name, undefined]));
}

/** Changing a value makes the writer its only owner. */
function ownManagerOf(after: Pod, patch: PodStatusPatch): string | undefined {
  const owners = managersOf(after, touchedBy(patch));
  return owners.length === 1 ? owners[0] : undefined;
}

/** Top-level members of the status that a patch touches, without its directives. */
function patchedMembers(patch: PodStatusPatch): string[] {
  if (patch.type === 'application/strategic-merge-patch+json') {
    const members = Object.keys(patch.body.status ?? {}).map((member) => member.replace(/^\$setElementOrder\//, ''));
    return [...new Set(members)];
  }
  return [...new Set(changesOfJSON(patch.body).map(({ path }) => path.split('/')[2] ?? 'status'))];
}

/** The values that a patch writes, without its tests. */
function changesOf({ type, body }: PodStatusPatch): unknown {
  return type === 'application/json-patch+json' ? changesOfJSON(body).map(withoutTimeValue) : body;
}

const timeMembers: ReadonlySet<unknown> = new Set(['lastTransitionTime', 'lastProbeTime']);

/** The merge may set a condition's time to now in each patch. */
function isEqualIgnoringTimes(changes: unknown, others: unknown): boolean {
  return isEqualWith(changes, others, (_a, _b, member) => {
    if (timeMembers.has(member)) return true;
    return undefined;
  });
}

/** For a terminal pod whose cached status is Ready, each merge sets Ready=False with the current time. */
function hasOnlyTimes(changes: unknown): boolean {
  if (Array.isArray(changes)) return changes.every(({ path }) => timeMembers.has(lastMember(path as string)));
  const { conditions, ...others } = (changes as { readonly status?: PodStatusChanges }).status ?? {};
  return (
    Array.isArray(conditions) &&
    conditions.every((condition) => Object.keys(condition).every((name) => name === 'type' || timeMembers.has(name))) &&
    Object.keys(others).every((name) => name === '$setElementOrder/conditions')
  );
}

function changesOfJSON(body: readonly JSONPatchOperation[]): JSONPatchOperation[] {
  return body.filter(({ op }) => op !== 'test');
}

function withoutTimeValue(operation: JSONPatchOperation): JSONPatchOperation {
  const isTime = timeMembers.has(lastMember(operation.path)) && 'value' in operation;
  return isTime ? { ...operation, value: null } : operation;
}

function lastMember(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
