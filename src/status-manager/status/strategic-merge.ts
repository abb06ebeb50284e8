import type { PodStatusChanges, StrategicMergePatchBody } from '../../kube/client/pod-client.ts';
import type { PodStatus } from '../../kube/objects/types.ts';
import { isObject, ownField, type Raw, setOwn } from '../../shared/json.ts';
import { isKnownField, type PatchSchema, schemaOfField } from './patch-schema.ts';
import { podStatusFields } from './status-fields.ts';
import { compareUTF8 } from './utf8.ts';

type Patch = Record<string, unknown>;

const podStatusSchema: PatchSchema = { fields: podStatusFields };

/**
 * The strategic merge patch that changes the status of the pod with this UID from `from` to `to`;
 * undefined when there is nothing to send.
 * Source: kubelet `PatchPodStatus`, `preparePatchBytesForPodStatus`.
 */
export function createStatusPatch(uid: string, from: PodStatus, to: PodStatus): StrategicMergePatchBody | undefined {
  const status = diffPodStatus(from, to);
  return status === undefined ? undefined : { metadata: { uid }, status };
}

/**
 * The strategic merge from a server's status to `to`; undefined when nothing changes. Both are
 * canonical, but `from` may contain anything that a server sends: this never throws. Unknown fields
 * keep the server's value unless `to` has another one. The result shares structure with `to`: do not
 * modify it.
 *
 * Divergence: an element that the server's list has twice is deleted and written back completely;
 * upstream writes it back without its unchanged fields.
 *
 * As upstream, a list that ends is removed as a whole, with what others have added to it since `from` was read.
 * Source: `strategicpatch.CreateTwoWayMergePatch`.
 */
export function diffPodStatus(from: PodStatus, to: PodStatus): PodStatusChanges | undefined {
  return diffFields(isObject(from) ? from : {}, to, podStatusSchema);
}

function diffFields(from: Raw, to: Raw, schema: PatchSchema): Patch | undefined {
  let patch: Patch | undefined;
  for (const field of Object.keys(to)) {
    const wanted = to[field];
    const current = ownField(from, field);
    if (wanted === current || wanted === undefined) continue;
    const inner = schemaOfField(schema, field);
    if (isObject(wanted) && isObject(current)) {
      const changes = diffFields(current, wanted, inner);
      if (changes !== undefined) setOwn((patch ??= {}), field, changes);
    } else if (inner.mergeKey !== undefined && Array.isArray(wanted) && Array.isArray(current) && current.length > 0) {
      const changes = diffMergeList(current, wanted, inner.mergeKey, inner);
      if (changes === undefined) continue;
      patch ??= {};
      if (changes.length > 0) patch[field] = changes;
      if (wanted.length > 0) patch[`$setElementOrder/${field}`] = elementOrder(wanted, inner.mergeKey);
    } else if (!isSame(current, wanted, inner)) {
      setOwn((patch ??= {}), field, wanted);
    }
  }
  for (const field of Object.keys(from)) {
    if (isServerOnly(from, to, field) && isKnownField(schema, field)) setOwn((patch ??= {}), field, null);
  }
  return patch;
}

/**
 * The entries of a merged list's patch; empty when only the order differs, undefined when nothing
 * differs.
 */
function diffMergeList(
  from: readonly unknown[],
  to: readonly unknown[],
  mergeKey: string,
  schema: PatchSchema,
): Patch[] | undefined {
  const current = elementsByKey(from, mergeKey);
  const wanted = elementsByKey(to, mergeKey);
  const entries: Patch[] = [];
  const removedKeys: string[] = [];
  for (const [key, element] of wanted) {
    const old = current.get(key);
    // A duplicate of another writer, which our status inherited, is not patched.
    if (element === undefined) continue;
    if (old === undefined) {
      entries.push(element);
      if (current.has(key)) removedKeys.push(key);
      continue;
    }
    const changes = diffFields(old, element, schema);
    if (changes === undefined) continue;
    changes[mergeKey] = key;
    if (schema.retainKeys) changes['$retainKeys'] = fieldsToRetain(old, element, schema);
    entries.push(changes);
  }
  for (const key of current.keys()) if (!wanted.has(key)) removedKeys.push(key);
  for (const key of removedKeys.sort(compareUTF8)) entries.push({ $patch: 'delete', [mergeKey]: key });

  return entries.length === 0 && isSameOrder(current, wanted) ? undefined : entries;
}

/** In the list's order; undefined for a duplicate key. */
function elementsByKey(list: readonly unknown[], mergeKey: string): Map<string, Patch | undefined> {
  const byKey = new Map<string, Patch | undefined>();
  for (const element of list) {
    const key = keyOf(element, mergeKey);
    if (key !== undefined) byKey.set(key, byKey.has(key) ? undefined : (element as Patch));
  }
  return byKey;
}

function elementOrder(list: readonly unknown[], mergeKey: string): Patch[] {
  return list.map((element) => ({ [mergeKey]: keyOf(element, mergeKey) }));
}

/** All fields of the resulting element: the server drops those that are not named. */
function fieldsToRetain(from: Raw, to: Raw, schema: PatchSchema): string[] {
  const kept = Object.keys(to).filter((field) => to[field] !== null && to[field] !== undefined);
  const unknown = Object.keys(from).filter((field) => isServerOnly(from, to, field) && !isKnownField(schema, field));
  return [...kept, ...unknown].sort(compareUTF8);
}

function isSameOrder(current: ReadonlyMap<string, unknown>, wanted: ReadonlyMap<string, unknown>): boolean {
  const inWantedOrder = wanted.keys();
  for (const key of current.keys()) {
    if (wanted.has(key) && inWantedOrder.next().value !== key) return false;
  }
  return true;
}

/**
 * Whether the server's value already equals `to`. Absent and null are equal; unknown fields that only
 * the server has are ignored.
 */
export function isSame(from: unknown, to: unknown, schema: PatchSchema): boolean {
  if (from === to) return true;
  if (to === null || to === undefined) return from === null || from === undefined;
  if (Array.isArray(to)) {
    return (
      Array.isArray(from) && from.length === to.length && to.every((element, i) => isSame(from[i], element, schema))
    );
  }
  if (!isObject(to) || !isObject(from)) return false;
  for (const field of Object.keys(to)) {
    if (!isSame(ownField(from, field), to[field], schemaOfField(schema, field))) return false;
  }
  for (const field of Object.keys(from)) {
    if (isServerOnly(from, to, field) && isKnownField(schema, field)) return false;
  }
  return true;
}

/** Whether the server's object has a value where `to` has no such field. */
export function isServerOnly(from: Raw, to: Raw, field: string): boolean {
  return from[field] !== null && from[field] !== undefined && ownField(to, field) === undefined;
}

/** The element's key in its list; undefined when the value is not an element of such a list. */
export function keyOf(element: unknown, mergeKey: string): string | undefined {
  const key = isObject(element) ? ownField(element, mergeKey) : undefined;
  return typeof key === 'string' ? key : undefined;
}
