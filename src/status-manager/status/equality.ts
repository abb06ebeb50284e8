import type { PodCondition, PodStatus, ResourceList } from '../../kube/objects/types.ts';
import { foreignStatusFields, isWrittenByKubelet } from './ownership.ts';
import { quantitiesEqual } from '../../kube/objects/quantity.ts';
import { isSame } from './strategic-merge.ts';
import { podStatusFields } from './status-fields.ts';

type JSONObject = Record<string, unknown>;

/** Foreign fields, and the conditions, which `equalConditions` compares. */
const notCompared: ReadonlySet<string> = new Set(['conditions', ...foreignStatusFields]);
const resourceLists: ReadonlySet<string> = new Set(['allocatedResources', 'limits', 'requests']);

/**
 * True when two normalised statuses are equal in everything that the kubelet writes: owned and shared
 * conditions, without their times and observedGeneration, and all other fields except those of the
 * resource claims. Quantities are compared by value; list order matters.
 * Source: kubelet `isPodStatusByKubeletEqual`.
 */
export function isPodStatusByKubeletEqual(oldStatus: PodStatus, status: PodStatus): boolean {
  if (oldStatus === status) return true;
  return equalConditions(oldStatus.conditions, status.conditions) && equalFields(oldStatus, status, notCompared);
}

/**
 * True when the server shows everything in `status`: like `isPodStatusByKubeletEqual`, but ignores
 * unknown fields that only the server has. No patch removes them, so a newer server's fields must
 * not cause a read at every full batch.
 */
export function reflectsStatus(serverStatus: PodStatus, status: PodStatus): boolean {
  return (
    isPodStatusByKubeletEqual(serverStatus, status) ||
    (equalConditions(serverStatus.conditions, status.conditions) &&
      isSame(onlyCompared(serverStatus), onlyCompared(status), { fields: podStatusFields }))
  );
}

function onlyCompared(status: PodStatus): PodStatus {
  const compared = { ...status };
  for (const field of notCompared) delete compared[field as keyof PodStatus];
  return compared;
}

/** Semantic equality of two values in canonical form. */
export function equalJSON(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false;
    for (let i = 0; i < a.length; i++) if (!equalJSON(a[i], b[i])) return false;
    return true;
  }
  return !Array.isArray(b) && equalFields(a as JSONObject, b as JSONObject, undefined);
}

function equalFields(a: JSONObject, b: JSONObject, except: ReadonlySet<string> | undefined): boolean {
  let fieldsOfA = 0;
  for (const field in a) {
    if (except?.has(field)) continue;
    fieldsOfA++;
    const x = a[field];
    const y = b[field];
    // A value that `b` inherits, under a name like `__proto__`, is never a JSON scalar.
    if (x === y && x !== undefined) continue;
    if (!Object.hasOwn(b, field)) return false;
    if (!equalJSON(x, y) && !(resourceLists.has(field) && equalResourceLists(x, y))) return false;
  }
  let fieldsOfB = 0;
  for (const field in b) if (!except?.has(field)) fieldsOfB++;
  return fieldsOfA === fieldsOfB;
}

/** By value: `1e3` and `1k` are two canonical formats of one quantity. */
function equalResourceLists(a: unknown, b: unknown): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => {
      const x: unknown = (a as ResourceList)[name];
      const y: unknown = Object.hasOwn(b, name) ? (b as ResourceList)[name] : undefined;
      return x === y || (typeof x === 'string' && typeof y === 'string' && quantitiesEqual(x, y));
    })
  );
}

function equalConditions(
  oldConditions: readonly PodCondition[] = [],
  conditions: readonly PodCondition[] = [],
): boolean {
  for (const { type, status, reason, message } of conditions) {
    if (!isWrittenByKubelet(type)) continue;
    const old = lastOfType(oldConditions, type);
    if (old === undefined || old.status !== status || old.reason !== reason || old.message !== message) return false;
  }
  for (const { type } of oldConditions) {
    if (isWrittenByKubelet(type) && lastOfType(conditions, type) === undefined) return false;
  }
  return true;
}

/** The last of several conditions of one type counts, because the kubelet puts them into a map. */
function lastOfType(conditions: readonly PodCondition[], type: string): PodCondition | undefined {
  for (let i = conditions.length - 1; i >= 0; i--) if (conditions[i]!.type === type) return conditions[i];
  return undefined;
}
