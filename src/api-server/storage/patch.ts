import fastJSONPatch, { type Operation } from 'fast-json-patch';
import { StatusManagerError } from '../../shared/errors.ts';
import { setOwn } from '../../shared/json.ts';
import { applyNodePatch, applyPodPatch } from '../../status-manager/status/strategic-merge-apply.ts';
import { APIStatusError, badRequest } from '../api-status.ts';
import { isJSONObject, type JSONObject } from '../../kube/objects/json-object.ts';

export const patchTypes = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
] as const;

/** The limits of a real server. */
const maxOperations = 10_000;
const maxCopiedBytes = 3 * 1024 * 1024;

export type PatchMediaType = (typeof patchTypes)[number];

/**
 * The object after a patch, not yet decoded. Does not mutate the given object.
 * @throws APIStatusError 400 for an invalid patch, 422 for a JSON patch that cannot be applied
 */
export function applyPatch(table: string, type: PatchMediaType, object: object, patch: unknown): JSONObject {
  if (type === 'application/json-patch+json') return applyJSONPatch(object, patch);
  if (!isJSONObject(patch)) {
    throw badRequest('json: cannot unmarshal the patch into Go value of type map[string]interface {}');
  }
  if (type === 'application/merge-patch+json') return mergePatched(object, patch) as JSONObject;
  return applyStrategicMergePatch(table, object, patch);
}

function applyJSONPatch(object: object, patch: unknown): JSONObject {
  if (!Array.isArray(patch) || !patch.every(isJSONObject)) {
    throw badRequest('error decoding patch: json: cannot unmarshal into Go value of type []handlers.jsonPatchOp');
  }
  if (patch.length > maxOperations) {
    const message = `Request entity too large: The allowed maximum operations in a JSON patch is ${maxOperations}, got ${patch.length}`;
    throw new APIStatusError(413, 'RequestEntityTooLarge', message);
  }
  try {
    let document: unknown = structuredClone(object);
    let copiedBytes = 0;
    for (const operation of patch) {
      // Repeated copy operations could double the document each time.
      if (operation.op === 'copy') copiedBytes += sizeOf(document, operation.from);
      if (copiedBytes > maxCopiedBytes) throw new Error('the copied values are too large');
      document = afterOperation(document, operation as unknown as Operation);
    }
    if (isJSONObject(document)) return document;
  } catch (error) {
    // kube-apiserver does not say which operation failed.
    if (!(error instanceof Error)) throw error;
  }
  throw new APIStatusError(422, 'Invalid', 'the server rejected our request due to an error in our request', {});
}

function sizeOf(document: unknown, pointer: unknown): number {
  return JSON.stringify(fastJSONPatch.getValueByPointer(document, String(pointer)) ?? null).length;
}

/**
 * Applies one operation to the document, which is changed. Deviates from RFC 6902 in two cases, as the
 * real server does.
 */
function afterOperation(document: unknown, operation: Operation): unknown {
  const { op, path } = operation;
  if (op === 'test' && operation.value == null && fastJSONPatch.getValueByPointer(document, path) == null)
    return document;
  const isAddition = op === 'replace' && fastJSONPatch.getValueByPointer(document, path) === undefined;
  const read: Operation = isAddition ? { op: 'add', path, value: operation.value as unknown } : operation;
  return fastJSONPatch.applyOperation<unknown>(document, read, true, true).newDocument;
}

/** Source: RFC 7386. */
function mergePatched(target: unknown, patch: unknown): unknown {
  if (!isJSONObject(patch)) return patch;
  const result: JSONObject = isJSONObject(target) ? { ...target } : {};
  for (const [field, value] of Object.entries(patch)) {
    if (value === null) delete result[field];
    else setOwn(result, field, mergePatched(Object.hasOwn(result, field) ? result[field] : undefined, value));
  }
  return result;
}

function applyStrategicMergePatch(table: string, object: object, patch: JSONObject): JSONObject {
  try {
    const result = table === 'pods' ? applyPodPatch(object, patch) : applyNodePatch(object, patch);
    return result as JSONObject;
  } catch (error) {
    if (!(error instanceof StatusManagerError)) throw error;
    // kube-apiserver responds 500 to a list element without its merge key.
    throw new APIStatusError(500, '', error.message);
  }
}
