import { StatusManagerError } from '../../shared/errors.ts';
import { isObject, ownField, type Raw, setOwn } from '../../shared/json.ts';
import { type PatchSchema, schemaOfField, type PatchFields } from './patch-schema.ts';
import { podStatusFields } from './status-fields.ts';

const nullable: PatchSchema = { nullable: true };

const objectMeta: PatchFields = {
  finalizers: { mergeScalars: true },
  ownerReferences: { mergeKey: 'uid' },
  creationTimestamp: nullable,
};

const containers: PatchSchema = {
  mergeKey: 'name',
  fields: {
    ports: { mergeKey: 'containerPort' },
    env: { mergeKey: 'name' },
    volumeMounts: { mergeKey: 'mountPath' },
    volumeDevices: { mergeKey: 'devicePath' },
  },
};

/** A pod: all of its status; of metadata and spec only the fields that need a rule of their own. */
const podFields: PatchFields = {
  metadata: { fields: objectMeta },
  spec: {
    fields: {
      volumes: { mergeKey: 'name', retainKeys: true },
      initContainers: containers,
      containers,
      ephemeralContainers: containers,
      imagePullSecrets: { mergeKey: 'name' },
      hostAliases: { mergeKey: 'ip' },
      topologySpreadConstraints: { mergeKey: 'topologyKey' },
      schedulingGates: { mergeKey: 'name' },
      resourceClaims: { mergeKey: 'name', retainKeys: true },
      evictionResponders: { mergeKey: 'name' },
    },
  },
  status: { fields: podStatusFields },
};

/** A node or another object that is not a pod, like `podFields`. Taints are replaced completely. */
const nodeFields: PatchFields = {
  metadata: { fields: objectMeta },
  spec: { fields: { podCIDRs: { mergeScalars: true } } },
  status: { fields: { conditions: { mergeKey: 'type' }, addresses: { mergeKey: 'type' } } },
  // Of a ServiceAccount.
  secrets: { mergeKey: 'name' },
};

type JSONObject = Record<string, unknown>;

const setElementOrder = '$setElementOrder/';
const deleteFromPrimitiveList = '$deleteFromPrimitiveList/';

/**
 * The status that an API server has after the strategic merge patch `{status: patch}`: all directives,
 * merged and replaced lists, fields deleted by null. Modifies neither argument; the result shares
 * structure with both. Does no defaulting or validation.
 * @throws StatusManagerError INVALID_ARGUMENT for a patch that a server would refuse as malformed
 * Source: `strategicpatch.StrategicMergePatch`.
 *
 * @example
 * ```ts
 * import { applyPodStatusPatch } from 'kubelet-status-manager';
 *
 * const conditions = [{ type: 'Ready', status: 'False' }, { type: 'Synced', status: 'True' }];
 * applyPodStatusPatch({ conditions }, { conditions: [{ type: 'Ready', status: 'True' }] });
 * // { conditions: [{ type: 'Ready', status: 'True' }, { type: 'Synced', status: 'True' }] }
 * ```
 */
export function applyPodStatusPatch<Status extends object>(status: Status, patch: object): Status {
  return apply(status, patch, { fields: podStatusFields });
}

/** The same for a complete pod: `{metadata, spec, status}`. */
export function applyPodPatch<Pod extends object>(pod: Pod, patch: object): Pod {
  return apply(pod, patch, { fields: podFields });
}

/** The same for a node, or another object that is not a pod. */
export function applyNodePatch<Node extends object>(node: Node, patch: object): Node {
  return apply(node, patch, { fields: nodeFields });
}

function apply<T extends object>(object: T, patch: object, schema: PatchSchema): T {
  if (!isObject(patch)) throw malformed('', 'an object');
  return mergeObject(isObject(object) ? object : {}, patch, schema, '') as T;
}

function mergeObject(original: Raw, patch: Raw, schema: PatchSchema, path: string): JSONObject {
  const directive = ownField(patch, '$patch');
  if (directive === 'delete') return {};
  if (directive === 'replace') return withoutDirectives(patch, schema);
  if (directive !== undefined) throw malformed(`${path}.$patch`, '`replace` or `delete`');

  const result = retainedFields(original, patch, path);
  for (const field of patchedFields(patch)) {
    const value = mergeField(ownField(result, field), patch, field, schemaOfField(schema, field), `${path}.${field}`);
    if (value === undefined) delete result[field];
    else setOwn(result, field, value);
  }
  return result;
}

function retainedFields(original: Raw, patch: Raw, path: string): JSONObject {
  const retained = ownField(patch, '$retainKeys');
  if (retained === undefined) return { ...original };
  if (!Array.isArray(retained)) throw malformed(`${path}.$retainKeys`, 'a list');
  const names = new Set<unknown>(retained);
  for (const field of Object.keys(patch)) {
    if (!isDirective(field) && patch[field] !== null && !names.has(field)) {
      throw malformed(`${path}.$retainKeys`, `a list that names \`${field}\``);
    }
  }
  return Object.fromEntries(Object.entries(original).filter(([field]) => names.has(field)));
}

/** The fields in the patch, including those that only a list directive names. */
function patchedFields(patch: Raw): Set<string> {
  const fields = new Set<string>();
  for (const name of Object.keys(patch)) {
    if (!isDirective(name)) fields.add(name);
    else if (name.includes('/')) fields.add(name.slice(name.indexOf('/') + 1));
  }
  return fields;
}

/** The field after the patch; undefined if it was removed. */
function mergeField(current: unknown, patch: Raw, field: string, schema: PatchSchema, path: string): unknown {
  const order = ownField(patch, setElementOrder + field);
  if (order !== undefined && !Array.isArray(order)) throw malformed(path, 'ordered by a list');
  const deletions = ownField(patch, deleteFromPrimitiveList + field);
  if (deletions !== undefined && !Array.isArray(deletions)) throw malformed(path, 'stripped of a list');

  const change = ownField(patch, field);
  const value = mergeValue(current, change, order, schema, path);
  return Array.isArray(value) && deletions !== undefined
    ? value.filter((element) => !deletions.includes(element))
    : value;
}

function mergeValue(
  current: unknown,
  change: unknown,
  order: readonly unknown[] | undefined,
  schema: PatchSchema,
  path: string,
): unknown {
  if (change === null) return schema.nullable ? null : undefined;
  if (isObject(current) && isObject(change)) return mergeObject(current, change, schema, path);
  const isMergeList = schema.mergeKey !== undefined || schema.mergeScalars === true;
  if (
    isMergeList &&
    (Array.isArray(change) || change === undefined) &&
    (Array.isArray(current) || current === undefined)
  ) {
    return current === undefined && change === undefined
      ? undefined
      : mergeList(current ?? [], change ?? [], order, schema, path);
  }
  return change === undefined ? current : replacement(change, schema);
}

/**
 * The elements of both lists: those in `order` (or else in `changes`) in this order, with the server's
 * others in between.
 */
function mergeList(
  original: readonly unknown[],
  changes: readonly unknown[],
  order: readonly unknown[] | undefined,
  schema: PatchSchema,
  path: string,
): unknown[] {
  const { mergeKey } = schema;
  if (mergeKey === undefined) {
    return inOrder([...new Set([...original, ...changes])], order ?? changes, original);
  }
  const additions = changes.filter((element) => directiveOf(element) === undefined);
  const additionKeys = additions.map((element) => requiredKey(element, mergeKey, path));
  const orderKeys = order?.map((element) => requiredKey(element, mergeKey, path)) ?? additionKeys;
  if (!isSubsequence(additionKeys, orderKeys)) throw malformed(path, 'in the order that $setElementOrder gives');
  const merged = mergeElements(original, changes, schema, mergeKey, path);
  // With $setElementOrder, new elements take the positions that deletions left free.
  const serverOrder = order === undefined ? original : merged.slice(0, original.length);
  return inOrder(merged, orderKeys, serverOrder, (element) => elementKey(element, mergeKey));
}

function mergeElements(
  original: readonly unknown[],
  changes: readonly unknown[],
  schema: PatchSchema,
  mergeKey: string,
  path: string,
): unknown[] {
  const deletedKeys = new Set<unknown>();
  let replaces = false;
  for (const change of changes) {
    const directive = directiveOf(change);
    if (directive === 'delete') deletedKeys.add(requiredKey(change, mergeKey, path));
    else if (directive === 'replace') replaces = true;
    else if (directive !== undefined) throw malformed(`${path}.$patch`, '`replace` or `delete` in an element');
  }
  // Unchanged, including duplicate keys.
  if (replaces) {
    return changes.filter((one) => directiveOf(one) === undefined).map((one) => replacement(one, schema));
  }

  const elements = original.filter((element) => !deletedKeys.has(elementKey(element, mergeKey)));
  const indexes = indexesOf(elements.map((element) => elementKey(element, mergeKey)));
  for (const change of changes) {
    if (directiveOf(change) !== undefined) continue;
    const key = elementKey(change, mergeKey);
    const index = indexes.get(key);
    if (index === undefined) {
      indexes.set(key, elements.length);
      elements.push(replacement(change, schema));
    } else {
      elements[index] = mergeObject(elements[index] as Raw, change as Raw, schema, path);
    }
  }
  return elements;
}

/**
 * The elements named by `order`, in this order. Each of the others, which only the server has, comes
 * before the first named element that follows it in the server's order.
 */
function inOrder(
  elements: readonly unknown[],
  order: readonly unknown[],
  serverOrder: readonly unknown[],
  keyOf: (element: unknown) => unknown = (element) => element,
): unknown[] {
  const wantedIndexes = indexesOf(order);
  const serverIndexes = indexesOf(serverOrder.map(keyOf));
  const wantedIndex = (element: unknown) => wantedIndexes.get(keyOf(element));
  const serverIndex = (element: unknown) => serverIndexes.get(keyOf(element)) ?? NaN;

  const named = elements.filter((element) => wantedIndex(element) !== undefined);
  named.sort((a, b) => wantedIndex(a)! - wantedIndex(b)!);
  const others = elements.filter((element) => wantedIndex(element) === undefined);
  const result: unknown[] = [];
  let next = 0;
  for (const element of named) {
    while (next < others.length && serverIndex(others[next]) < serverIndex(element)) result.push(others[next++]);
    result.push(element);
  }
  return [...result, ...others.slice(next)];
}

/** The first position of each value. */
function indexesOf(values: readonly unknown[]): Map<unknown, number> {
  const indexes = new Map<unknown, number>();
  for (const [i, value] of values.entries()) if (value !== undefined && !indexes.has(value)) indexes.set(value, i);
  return indexes;
}

function isSubsequence(part: readonly unknown[], list: readonly unknown[]): boolean {
  let found = 0;
  for (const value of list) if (found < part.length && value === part[found]) found++;
  return found === part.length;
}

/** A replacement value as it is stored: without directives, and null only where null is written. */
function replacement(value: unknown, schema: PatchSchema): unknown {
  if (Array.isArray(value)) {
    return value.filter((element) => directiveOf(element) === undefined).map((element) => replacement(element, schema));
  }
  if (!isObject(value)) return value;
  return directiveOf(value) === undefined ? withoutDirectives(value, schema) : undefined;
}

function withoutDirectives(object: Raw, schema: PatchSchema): JSONObject {
  const result: JSONObject = {};
  for (const field of Object.keys(object)) {
    if (isDirective(field)) continue;
    const inner = schemaOfField(schema, field);
    const value = replacement(object[field], inner);
    if (value !== undefined && (value !== null || inner.nullable)) setOwn(result, field, value);
  }
  return result;
}

function isDirective(field: string): boolean {
  return (
    field === '$patch' ||
    field === '$retainKeys' ||
    field.startsWith(setElementOrder) ||
    field.startsWith(deleteFromPrimitiveList)
  );
}

function directiveOf(element: unknown): unknown {
  return isObject(element) ? ownField(element, '$patch') : undefined;
}

function elementKey(element: unknown, mergeKey: string): unknown {
  return isObject(element) ? ownField(element, mergeKey) : undefined;
}

function requiredKey(element: unknown, mergeKey: string, path: string): unknown {
  const key = elementKey(element, mergeKey);
  if (key === undefined) throw malformed(path, `a list of objects with \`${mergeKey}\``);
  return key;
}

function malformed(pathInPatch: string, expected: string): StatusManagerError {
  const path = `patch${pathInPatch}`;
  return new StatusManagerError('INVALID_ARGUMENT', `Expected \`${path}\` to be ${expected}`, { path });
}
