import { type ApiStatusError, badRequest, invalidPatch } from './api-status.ts';
import { DecodeError } from './decode.ts';
import { decodeMetadata, type SentMetadata } from './metadata.ts';
import type { JSONObject, StoredObject } from './objects.ts';
import { groupVersionOf, type ResourceDefinition } from './resources.ts';

/** An object as a client sent it, spelled canonically. */
export interface DecodedObject {
  readonly kind: string;
  readonly apiVersion: string;
  readonly metadata: SentMetadata;
  readonly [member: string]: unknown;
}

function decode(definition: ResourceDefinition, body: JSONObject): DecodedObject {
  const raw = definition.toStored?.(body) ?? body;
  const apiVersion = definition.toStored === undefined ? groupVersionOf(definition) : 'v1';
  return { kind: definition.kind, apiVersion, metadata: decodeMetadata(raw), ...definition.strategy.decode(raw) };
}

/** @throws ApiStatusError 400 */
export function decodeBody(definition: ResourceDefinition, body: JSONObject): DecodedObject {
  const { kind, version } = definition;
  const { kind: sentKind = kind, apiVersion = groupVersionOf(definition) } = body;
  const refusal = `${kind} in version "${version}" cannot be handled as a ${kind}`;
  if (sentKind !== kind || apiVersion !== groupVersionOf(definition)) {
    throw badRequest(
      `${String(sentKind)} in version "${String(apiVersion)}" cannot be handled as a ${kind}: unknown conversion`,
    );
  }
  try {
    return decode(definition, body);
  } catch (error) {
    throw error instanceof DecodeError ? badRequest(`${refusal}: ${error.message}`) : error;
  }
}

/** @throws ApiStatusError 422 */
export function decodePatched(definition: ResourceDefinition, object: JSONObject): DecodedObject {
  try {
    return decode(definition, object);
  } catch (error) {
    throw error instanceof DecodeError ? invalidPatch(error.message) : error;
  }
}

/** What a client left out of the metadata, or may not set there, from the stored object. */
export function withServerMetadata(sent: SentMetadata, old: StoredObject): SentMetadata {
  const { metadata } = old;
  return {
    ...sent,
    namespace: metadata.namespace,
    uid: sent.uid ?? metadata.uid,
    resourceVersion: metadata.resourceVersion,
    generation: metadata.generation,
    creationTimestamp: sent.creationTimestamp ?? metadata.creationTimestamp,
    deletionTimestamp: sent.deletionTimestamp ?? metadata.deletionTimestamp,
    deletionGracePeriodSeconds: sent.deletionGracePeriodSeconds ?? metadata.deletionGracePeriodSeconds,
  };
}

/** @throws ApiStatusError 400 for an object whose name or namespace is not that of the URL */
export function refuseOtherName(
  { name, namespace }: { readonly name: string; readonly namespace: string },
  { metadata }: DecodedObject,
): void {
  if (metadata.name === undefined) {
    throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`);
  }
  if (metadata.name !== name) {
    throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${name})`);
  }
  if (metadata.namespace !== undefined && metadata.namespace !== namespace) throw namespaceMismatch();
}

export function namespaceMismatch(): ApiStatusError {
  return badRequest('the namespace of the provided object does not match the namespace sent on the request');
}
