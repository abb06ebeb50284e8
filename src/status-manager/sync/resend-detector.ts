import isEqualWith from 'lodash/isEqualWith.js';
import type { JSONPatchOperation, PodStatusChanges, PodStatusPatch } from '../../kube/client/pod-client.ts';
import { statusFields } from '../../shared/log-fields.ts';
import type { Logger } from '../../shared/logger.ts';
import { managersOf } from '../status/managed-fields.ts';
import type { Pod } from '../../kube/types.ts';

/** Who undoes what in a pod status. */
export interface HotLoop {
  /** Top-level members of the status that are patched each time. */
  readonly members: readonly string[];
  /**
   * Other field managers that own some of it on the API object. Empty when the API server or a webhook
   * changes it, when the other writer has our name, or without managedFields.
   */
  readonly managers: readonly string[];
  readonly timesSent: number;
}

interface LastPatch {
  readonly version: number;
  readonly changes: unknown;
  timesSent: number;
  /** From the threshold on, and also for the next versions, until the API server keeps one. */
  hotLoop?: HotLoop | undefined;
}

/** When one body has been sent so often for one version, another writer undoes what we write. */
export const hotLoopThreshold = 3;

/**
 * Notices hot loops: the API server takes a patch and shows the old status again, because it drops
 * a member, or because somebody else writes it. Divergence: the kubelet patches again at every tick.
 */
export class ResendDetector {
  readonly #lastPatches = new Map<string, LastPatch>();
  readonly #logger: Logger;
  /** The field manager that the API server knows us by; undefined until a PATCH shows it. */
  #ownManager: string | undefined;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /**
   * @param before the object as it was before the patch: afterwards the disputed members are ours
   * @param after the object in the response
   * @returns how often this body, times aside, has been sent for this version, this time included
   */
  sent(uid: string, version: number, patch: PodStatusPatch, before: Pod, after: Pod): number {
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
      const { namespace: podNamespace = '', name: podName = '' } = before.metadata ?? {};
      this.#logger.warn(
        { ...statusFields(uid, { podNamespace, podName, version }), members, managers },
        hasOnlyTimes(changes)
          ? 'The pod was terminated without a terminal status that is not Ready, which makes it unready again at each sync; backing off'
          : 'The API server does not keep what is written into the pod status; backing off',
      );
    }
    return last.timesSent;
  }

  /** How many pods are in a hot loop. */
  get contestedPods(): number {
    let count = 0;
    for (const { hotLoop } of this.#lastPatches.values()) if (hotLoop !== undefined) count++;
    return count;
  }

  /** Undefined unless a patch of this pod has been sent often enough to be a hot loop, and none has been kept since. */
  hotLoopOf(uid: string): HotLoop | undefined {
    return this.#lastPatches.get(uid)?.hotLoop;
  }

  /** The API server shows what we wrote. */
  kept(uid: string, versioned: Parameters<typeof statusFields>[1]): void {
    const hotLoop = this.hotLoopOf(uid);
    this.forget(uid);
    if (hotLoop !== undefined)
      this.#logger.warn(
        { ...statusFields(uid, versioned), members: hotLoop.members, managers: hotLoop.managers },
        'The API server keeps what is written into the pod status again',
      );
  }

  /** The pod is gone, or is tried as if nothing had happened. */
  forget(uid: string): void {
    this.#lastPatches.delete(uid);
  }
}

/** What a patch writes, as `managersOf` takes it. */
function touchedBy(patch: PodStatusPatch): object {
  if ('status' in patch.body) return patch.body.status ?? {};
  return Object.fromEntries(patchedMembers(patch).map((name) => [name, undefined]));
}

/** Whoever changes a value becomes its only owner. */
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

/** What a patch writes, without what it tests, for a comparison that ignores times. */
function changesOf({ type, body }: PodStatusPatch): unknown {
  return type === 'application/json-patch+json' ? changesOfJSON(body).map(withoutTimeValue) : body;
}

const timeMembers: ReadonlySet<unknown> = new Set(['lastTransitionTime', 'lastProbeTime']);

/** The merge may give a condition the present time each time it is sent. */
function isEqualIgnoringTimes(changes: unknown, others: unknown): boolean {
  return isEqualWith(changes, others, (_a, _b, member) => {
    if (timeMembers.has(member)) return true;
    return undefined;
  });
}

/** The merge makes a terminal pod unready as of now for as long as the cached status says Ready. */
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
