import type { IncomingMessage } from 'node:http';
import { ApiStatusError, badRequest, methodNotAllowed, unknownPath } from './api-status.ts';
import { isJSONObject, isTooDeep, type JSONObject } from './objects.ts';
import type { Target } from './registry.ts';
import { type ResourceDefinition, resourceNamed } from './resources.ts';
import type { DeleteOptions } from './strategy.ts';
import type { Subresource } from './subresources.ts';

/** The limit of a real server. */
const maxBodyBytes = 3 * 1024 * 1024;

/** What a method and a path ask for. Source: `RequestInfoFactory`. */
export type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection';

/** What a path names, and the verb on it. */
export interface ResourceRequest extends Target {
  readonly verb: Verb;
}

/** The resource that a path names; undefined when the path is outside of `/api` and `/apis`. */
export function parseResourcePath(method: string, path: string, isWatch: boolean): ResourceRequest | undefined {
  const parts = path.split('/').slice(1).map(decodeSegment);
  const [root] = parts;
  if (root !== 'api' && root !== 'apis') return undefined;
  const [group = '', version = '', ...rest] = root === 'api' ? ['', ...parts.slice(1)] : parts.slice(1);
  const isNamespaced = rest[0] === 'namespaces' && rest.length > 2 && !(rest.length === 3 && rest[2] === 'status');
  const [namespace, [resource = '', name = '', subresource = '', ...more]] = isNamespaced
    ? [rest[1] ?? '', rest.slice(2)]
    : ['', rest];
  const definition = resourceNamed(group, version, resource);
  if (definition === undefined || more.length > 0) throw unknownPath();
  if (definition.namespaced !== isNamespaced && !(definition.namespaced && name === '')) throw unknownPath();
  const target = { definition, namespace, name };
  if (subresource !== '') {
    const row = subresourceNamed(definition, subresource);
    return { ...target, subresource: row.name, verb: verbOf(row.verbs, method) };
  }
  const verbs = name === '' ? collectionVerbs(definition, namespace, isWatch) : objectVerbs;
  return { ...target, subresource: '', verb: verbOf(verbs, method) };
}

function subresourceNamed(definition: ResourceDefinition, name: string): Subresource {
  const row = definition.subresources.find((one) => one.name === name);
  if (row === undefined) throw unknownPath();
  return row;
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw badRequest(`the path segment ${JSON.stringify(segment)} cannot be decoded`);
  }
}

/** The verb of each HTTP method that is allowed. */
export interface Verbs {
  readonly [method: string]: Verb;
}

const objectVerbs: Verbs = { GET: 'get', PUT: 'update', PATCH: 'patch', DELETE: 'delete' };

function collectionVerbs(definition: ResourceDefinition, namespace: string, isWatch: boolean): Verbs {
  const read = { GET: isWatch ? 'watch' : 'list' } as const;
  const isAcrossNamespaces = definition.namespaced && namespace === '';
  return isAcrossNamespaces ? read : { ...read, POST: 'create', DELETE: 'deletecollection' };
}

function verbOf(verbs: Verbs, method: string): Verb {
  const verb = Object.hasOwn(verbs, method) ? verbs[method] : undefined;
  if (verb === undefined) throw methodNotAllowed();
  return verb;
}

/**
 * The whole body as text.
 * @throws ApiStatusError 413
 */
export async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBodyBytes) {
      throw new ApiStatusError(413, 'RequestEntityTooLarge', `Request entity too large: limit is ${maxBodyBytes}`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** @throws ApiStatusError 400 */
export function parseJSON(text: string, refusal: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw badRequest(refusal);
  }
  if (isTooDeep(value)) throw badRequest(`${refusal}: exceeded max depth`);
  return value;
}

/** @throws ApiStatusError 400 */
export function parseObject(text: string, refusal: string): JSONObject {
  const value = parseJSON(text, refusal);
  if (!isJSONObject(value)) throw badRequest(refusal);
  return value;
}

export function mediaTypeOf(request: IncomingMessage): string {
  return (request.headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase();
}

/** The options of a DELETE: its body, else its query. */
export function parseDeleteOptions(text: string, query: URLSearchParams): DeleteOptions {
  const body = text === '' ? {} : parseObject(text, "couldn't get version/kind; json parse error");
  const { gracePeriodSeconds, preconditions } = body;
  const seconds =
    gracePeriodSeconds ?? (query.has('gracePeriodSeconds') ? Number(query.get('gracePeriodSeconds')) : undefined);
  if (seconds !== undefined && (typeof seconds !== 'number' || !Number.isSafeInteger(seconds))) {
    throw badRequest(`gracePeriodSeconds: ${JSON.stringify(seconds)} is no integer`);
  }
  const { uid, resourceVersion } = isJSONObject(preconditions) ? preconditions : {};
  return {
    ...(seconds === undefined ? {} : { gracePeriodSeconds: seconds }),
    ...(typeof uid === 'string' ? { uid } : {}),
    ...(typeof resourceVersion === 'string' ? { resourceVersion } : {}),
  };
}
