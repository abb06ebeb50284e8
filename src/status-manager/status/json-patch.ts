import type { JSONPatchOperation } from '../../kube/client/pod-client.ts';
import { escapePathComponent } from 'fast-json-patch';

import type { PodStatus } from '../../kube/objects/types.ts';
import { isObject, ownField, type Raw, setOwn } from '../../shared/json.ts';
import { isKnownField, type PatchSchema, schemaOfField } from './patch-schema.ts';
import { podStatusFields } from './status-fields.ts';
import { isSame, isServerOnly, keyOf } from './strategic-merge.ts';

/**
 * The JSON patch that brings the pod with this UID from the server's status to the target, or
 * undefined when there is nothing to send. `serverStatus` is from the server's response, unchanged
 * (absent, invalid and unknown fields included: this never throws); `targetStatus` is canonical.
 *
 * The patch fails rather than overwrite unseen changes. It starts with a `test` of the UID. Every list
 * that it changes is tested first, by element key or completely; an absent list with several writers
 * is tested for absence. Fields that only the server knows are never removed. The operations share
 * structure with both statuses: do not change them.
 */
export function createStatusJSONPatch(
  uid: string,
  serverStatus: unknown,
  targetStatus: PodStatus,
): JSONPatchOperation[] | undefined {
  const changes: JSONPatchOperation[] = [];
  if (isObject(serverStatus)) {
    patchFields(changes, '/status', serverStatus, targetStatus, { fields: podStatusFields });
  } else if (Object.keys(targetStatus).length > 0) {
    changes.push({ op: 'add', path: '/status', value: targetStatus });
  }
  return changes.length === 0 ? undefined : [{ op: 'test', path: '/metadata/uid', value: uid }, ...changes];
}

function patchFields(changes: JSONPatchOperation[], path: string, server: Raw, target: Raw, schema: PatchSchema): void {
  for (const field of Object.keys(target)) {
    const wanted = target[field];
    const current = ownField(server, field);
    const inner = schemaOfField(schema, field);
    if (wanted === undefined || isSame(current, wanted, inner)) continue;
    const fieldPath = `${path}/${escapePathComponent(field)}`;
    if (isObject(wanted) && isObject(current)) patchFields(changes, fieldPath, current, wanted, inner);
    else if (Array.isArray(wanted) && Array.isArray(current)) patchList(changes, fieldPath, current, wanted, inner);
    else {
      // To the API server this means "absent": others may have created the list in the meantime.
      if (inner.mergeKey !== undefined && (current ?? null) === null)
        changes.push({ op: 'test', path: fieldPath, value: null });
      changes.push({ op: Object.hasOwn(server, field) ? 'replace' : 'add', path: fieldPath, value: wanted });
    }
  }
  for (const field of Object.keys(server)) {
    if (!isServerOnly(server, target, field) || !isKnownField(schema, field)) continue;
    const fieldPath = `${path}/${escapePathComponent(field)}`;
    if (Array.isArray(server[field])) changes.push({ op: 'test', path: fieldPath, value: server[field] });
    changes.push({ op: 'remove', path: fieldPath });
  }
}

/** Element by element if the keys are the server's, in its order; otherwise the complete list. */
function patchList(
  changes: JSONPatchOperation[],
  path: string,
  server: readonly unknown[],
  target: readonly unknown[],
  schema: PatchSchema,
): void {
  const key = schema.mergeKey ?? schema.key;
  if (key === undefined || !hasSameKeys(server, target, key)) {
    changes.push({ op: 'test', path, value: server });
    changes.push({ op: 'replace', path, value: withUnknownFields(server, target, schema) });
    return;
  }
  for (const [i, element] of target.entries()) {
    if (isSame(server[i], element, schema)) continue;
    changes.push({ op: 'test', path: `${path}/${i}/${key}`, value: keyOf(element, key) });
    patchFields(changes, `${path}/${i}`, server[i] as Raw, element as Raw, schema);
  }
}

function hasSameKeys(server: readonly unknown[], target: readonly unknown[], key: string): boolean {
  if (server.length !== target.length) return false;
  return target.every(
    (element, i) => keyOf(element, key) !== undefined && keyOf(server[i], key) === keyOf(element, key),
  );
}

/** Adds the fields that only the server has; list elements are matched by key. */
function withUnknownFields(server: unknown, target: unknown, schema: PatchSchema): unknown {
  if (Array.isArray(target) && Array.isArray(server)) {
    const key = schema.mergeKey ?? schema.key;
    if (key === undefined) return target;
    const byKey = new Map<unknown, unknown>(server.map((element) => [keyOf(element, key), element]));
    return target.map((element) => withUnknownFields(byKey.get(keyOf(element, key)), element, schema));
  }
  if (!isObject(server) || !isObject(target)) return target;
  const result: Record<string, unknown> = {};
  for (const field of Object.keys(target)) {
    setOwn(result, field, withUnknownFields(ownField(server, field), target[field], schemaOfField(schema, field)));
  }
  for (const field of Object.keys(server)) {
    if (isServerOnly(server, target, field) && !isKnownField(schema, field)) setOwn(result, field, server[field]);
  }
  return result;
}
