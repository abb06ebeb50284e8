import isEqualWith from 'lodash/isEqualWith.js';
import type { JSONPatchOperation, PodStatusChanges, PodStatusPatch } from '../../kube/client/pod-client.ts';
import { statusFields } from '../../shared/log-fields.ts';
import type { Logger } from '../../shared/logger.ts';
import type { PodRecord } from './pod-records.ts';
import type { VersionedPodStatus } from '../cache/pod-status-cache.ts';
import { managersOf } from '../status/managed-fields.ts';
import type { Pod } from '../../kube/objects/types.ts';

/** The pod and the version that a patch is about. */
export type SentVersion = Pick<VersionedPodStatus, 'podName' | 'podNamespace' | 'version'>;

/** This many identical patches for one version are a hot loop. */
export const hotLoopThreshold = 3;

/**
 * Detects hot loops: the API server accepts a patch but later shows the old status, because it drops a
 * field or another writer overwrites it.
 * Divergence: the kubelet patches again at every tick.
 */
export class HotLoops {
  readonly #logger: Logger;
  /** Our field manager on the API server; undefined until a PATCH shows it. */
  #ownManager: string | undefined;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /**
   * The API server has taken this patch.
   * @param before the object before the patch: after it, we own the disputed fields
   * @param after the object in the response
   * @returns whether this body (ignoring times) has been sent often enough for this version to be a hot loop
   */
  sent(record: PodRecord, sent: SentVersion, patch: PodStatusPatch, before: Pod, after: Pod): boolean {
    const { version } = sent;
    this.#ownManager ??= ownManagerOf(after, patch);
    const last = record.lastPatch;
    const changes = changesOf(patch);
    const isSame = last !== undefined && last.version === version && isEqualIgnoringTimes(last.changes, changes);
    const timesSent = isSame ? last.timesSent + 1 : 1;
    record.lastPatch = { version, changes, timesSent, hotLoop: last?.hotLoop };
    if (timesSent < hotLoopThreshold) return false;
    const fields = patchedFields(patch);
    const managers = managersOf(before, touchedBy(patch)).filter((name) => name !== this.#ownManager);
    record.lastPatch = { version, changes, timesSent, hotLoop: { fields, managers, timesSent } };
    if (last?.hotLoop !== undefined) return true;
    this.#logger.warn(
      { ...statusFields(record.uid, sent), fields, managers },
      hasOnlyTimes(changes)
        ? 'Terminal pod still has Ready=True cached; each sync rewrites it. Backing off'
        : 'The API server does not keep what is written into the pod status; backing off',
    );
    return true;
  }

  /** The API server has preserved the written status. */
  kept(record: PodRecord, versioned: SentVersion): void {
    const hotLoop = record.lastPatch?.hotLoop;
    record.lastPatch = undefined;
    if (hotLoop === undefined) return;
    const { fields, managers } = hotLoop;
    this.#logger.info(
      { ...statusFields(record.uid, versioned), fields, managers },
      'The API server preserves written pod statuses again',
    );
  }
}

/** The fields that a patch writes, in the form that `managersOf` takes. */
function touchedBy(patch: PodStatusPatch): object {
  if ('status' in patch.body) return patch.body.status ?? {};
  return Object.fromEntries(patchedFields(patch).map((name) => [name, undefined]));
}

/** Changing a value makes the writer its only owner. */
function ownManagerOf(after: Pod, patch: PodStatusPatch): string | undefined {
  const owners = managersOf(after, touchedBy(patch));
  return owners.length === 1 ? owners[0] : undefined;
}

/** Top-level fields of the status that a patch touches, without its directives. */
function patchedFields(patch: PodStatusPatch): string[] {
  if (patch.type === 'application/strategic-merge-patch+json') {
    const fields = Object.keys(patch.body.status ?? {}).map((field) => field.replace(/^\$setElementOrder\//, ''));
    return [...new Set(fields)];
  }
  return [...new Set(changesOfJSON(patch.body).map(({ path }) => path.split('/')[2] ?? 'status'))];
}

/** The values that a patch writes, and the UID of its object: a mirror pod that is created again has no status yet. */
function changesOf({ type, body }: PodStatusPatch): unknown {
  if (type !== 'application/json-patch+json') return body;
  return body.filter(({ op, path }) => op !== 'test' || path === '/metadata/uid').map(withoutTimeValue);
}

const timeFields: ReadonlySet<unknown> = new Set(['lastTransitionTime', 'lastProbeTime']);

/** The merge may set a condition's time to now in each patch. */
function isEqualIgnoringTimes(changes: unknown, others: unknown): boolean {
  return isEqualWith(changes, others, (_a, _b, field) => {
    if (timeFields.has(field)) return true;
    return undefined;
  });
}

/** For a terminal pod whose cached status is Ready, each merge sets Ready=False with the current time. */
function hasOnlyTimes(changes: unknown): boolean {
  if (Array.isArray(changes)) return changesOfJSON(changes).every(({ path }) => timeFields.has(lastField(path)));
  const { conditions, ...others } = (changes as { readonly status?: PodStatusChanges }).status ?? {};
  return (
    Array.isArray(conditions) &&
    conditions.every((condition) => Object.keys(condition).every((name) => name === 'type' || timeFields.has(name))) &&
    Object.keys(others).every((name) => name === '$setElementOrder/conditions')
  );
}

function changesOfJSON(body: readonly JSONPatchOperation[]): JSONPatchOperation[] {
  return body.filter(({ op }) => op !== 'test');
}

function withoutTimeValue(operation: JSONPatchOperation): JSONPatchOperation {
  const isTime = timeFields.has(lastField(operation.path)) && 'value' in operation;
  return isTime ? { ...operation, value: null } : operation;
}

function lastField(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
