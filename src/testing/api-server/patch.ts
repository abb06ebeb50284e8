import fastJSONPatch, { type Operation } from 'fast-json-patch';
import { StatusManagerError } from '../../errors.ts';
import { setOwn } from '../../status/canonical-reader.ts';
import { applyNodePatch, applyPodPatch } from '../../status/strategic-merge-apply.ts';
import { ApiStatusError, badRequest } from './api-status.ts';
import { isJSONObject, type JSONObject } from './objects.ts';

export const patchTypes = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
] as const;

export type PatchMediaType = (typeof patchTypes)[number];

/**
 * The object after a patch, not yet decoded. The object given is not changed.
 * @throws ApiStatusError 400 for a body that is no such patch, 422 for a JSON patch that cannot be applied
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
  if (!Array.isArray(patch)) {
    throw badRequest(
      'error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp',
    );
  }
  try {
    const result = fastJSONPatch.applyPatch<unknown>(object, patch as Operation[], true, false);
    if (isJSONObject(result.newDocument)) return result.newDocument;
  } catch (error) {
    // Which operation failed, the real server does not say either.
    if (!(error instanceof Error)) throw error;
  }
  throw new ApiStatusError(422, 'Invalid', 'the server rejected our request due to an error in our request', {});
}

/** Source: RFC 7386. */
function mergePatched(target: unknown, patch: unknown): unknown {
  if (!isJSONObject(patch)) return patch;
  const result: JSONObject = isJSONObject(target) ? { ...target } : {};
  for (const [member, value] of Object.entries(patch)) {
    if (value === null) delete result[member];
    else setOwn(result, member, mergePatched(Object.hasOwn(result, member) ? result[member] : undefined, value));
  }
  return result;
}

function applyStrategicMergePatch(table: string, object: object, patch: JSONObject): JSONObject {
  try {
    const result = table === 'pods' ? applyPodPatch(object, patch) : applyNodePatch(object, patch);
    return result as JSONObject;
  } catch (error) {
    if (!(error instanceof StatusManagerError)) throw error;
    // A list element without its merge key is a 500 on the real server.
    throw new ApiStatusError(500, '', error.message);
  }
}
