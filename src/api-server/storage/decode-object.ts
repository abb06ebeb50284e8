import { type APIStatusError, badRequest, invalidPatch } from '../api-status.ts';
import type { FieldValidation } from './field-validation.ts';
import { DecodeError, decodeKubeType } from '../../kube/objects/kube-decoder.ts';
import type { SentMetadata } from './stored-metadata.ts';
import type { JSONObject } from '../../kube/objects/json-object.ts';
import type { StoredObject } from './objects.ts';
import { groupVersionOf, type ResourceDefinition } from '../resources/resources.ts';

/** An object as a client sent it, in canonical form. */
export interface DecodedObject {
  readonly kind: string;
  readonly apiVersion: string;
  readonly metadata: SentMetadata;
  readonly [field: string]: unknown;
}

/** The result of decoding: the object, and what strict validation refuses. */
interface Decoded {
  readonly object: DecodedObject;
  readonly strictErrors: readonly string[];
}

function decode(definition: ResourceDefinition, body: JSONObject): Decoded {
  const { value, unknownFields } = decodeKubeType(definition.kind, body);
  const { kind: _kind, apiVersion: _apiVersion, metadata, ...fields } = value;
  const { managedFields: _managedFields, selfLink: _selfLink, ...sent } = (metadata ?? {}) as JSONObject;
  const object = {
    kind: definition.kind,
    apiVersion: groupVersionOf(definition),
    metadata: sent as SentMetadata,
    ...definition.strategy.setDefaults(fields),
  };
  return { object, strictErrors: unknownFields.map((field) => `unknown field ${JSON.stringify(field)}`) };
}

/** @throws APIStatusError 400 */
export function decodeObject(definition: ResourceDefinition, body: JSONObject, request: StrictDecoding): DecodedObject {
  const { kind } = definition;
  const { kind: sentKind = kind, apiVersion = groupVersionOf(definition) } = body;
  const refusal = `${kind} in version "v1" cannot be handled as a ${kind}`;
  if (sentKind !== kind || apiVersion !== groupVersionOf(definition)) {
    throw badRequest(
      `${String(sentKind)} in version "${String(apiVersion)}" cannot be handled as a ${kind}: unknown conversion`,
    );
  }
  try {
    const { object, strictErrors } = decode(definition, body);
    treatStrictErrors(strictErrors, request, (because) => badRequest(`${refusal}: ${because}`));
    return object;
  } catch (error) {
    throw error instanceof DecodeError ? badRequest(`${refusal}: ${error.message}`) : error;
  }
}

/** A body that is not an object of the resource. @throws APIStatusError 400 */
export function decodeKind(
  kind: 'Binding' | 'Eviction' | 'SelfSubjectAccessReview' | 'TokenRequest' | 'TokenReview',
  body: JSONObject,
): JSONObject {
  const { kind: sentKind = kind, apiVersion } = body;
  if (sentKind !== kind) {
    throw badRequest(
      `${String(sentKind)} in version "${String(apiVersion)}" cannot be handled as a ${kind}: unknown conversion`,
    );
  }
  try {
    return decodeKubeType(kind, body).value;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw badRequest(`${kind} in version "v1" cannot be handled as a ${kind}: ${error.message}`);
  }
}

/** @throws APIStatusError 422 */
export function decodePatched(
  definition: ResourceDefinition,
  object: JSONObject,
  request: StrictDecoding,
): DecodedObject {
  const { kind, apiVersion } = object;
  if (kind !== definition.kind || apiVersion !== groupVersionOf(definition)) {
    throw invalidPatch(`the patch changes kind or apiVersion to ${String(kind)}, ${String(apiVersion)}`);
  }
  try {
    const { object: decoded, strictErrors } = decode(definition, object);
    treatStrictErrors(strictErrors, request, invalidPatch);
    return decoded;
  } catch (error) {
    throw error instanceof DecodeError ? invalidPatch(error.message) : error;
  }
}

/** How a request wants unknown and duplicate fields treated. */
export interface StrictDecoding {
  readonly fieldValidation: FieldValidation;
  /** Where the text of the body names a field twice. */
  readonly duplicateFields: readonly string[];
  /** Adds a `Warning` header to the response. */
  readonly warn: (text: string) => void;
}

function treatStrictErrors(
  unknown: readonly string[],
  { fieldValidation, duplicateFields, warn }: StrictDecoding,
  refusal: (because: string) => APIStatusError,
): void {
  const errors = [...duplicateFields.map((field) => `duplicate field ${JSON.stringify(field)}`), ...unknown];
  if (errors.length === 0 || fieldValidation === 'Ignore') return;
  if (fieldValidation === 'Strict') throw refusal(`strict decoding error: ${errors.join(', ')}`);
  for (const error of errors) warn(error);
}

/** The metadata with fields of the stored object that the client omitted or may not set. */
export function withServerMetadata(sent: SentMetadata, old: StoredObject): SentMetadata {
  const { metadata } = old;
  return {
    ...sent,
    namespace: metadata.namespace,
    uid: sent.uid ?? metadata.uid,
    resourceVersion: metadata.resourceVersion,
    generation: metadata.generation,
    creationTimestamp: metadata.creationTimestamp,
    deletionTimestamp: sent.deletionTimestamp ?? metadata.deletionTimestamp,
    deletionGracePeriodSeconds: sent.deletionGracePeriodSeconds ?? metadata.deletionGracePeriodSeconds,
  };
}

/** @throws APIStatusError 400 for an object whose name or namespace is not that of the URL */
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

export function namespaceMismatch(): APIStatusError {
  return badRequest('the namespace of the provided object does not match the namespace sent on the request');
}
