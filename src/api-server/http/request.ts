import { reviewAt } from '../access/review-resource.ts';
import { APIStatusError, badRequest, methodNotAllowed, unknownPath } from '../api-status.ts';
import type { ServerRequest } from './exchange.ts';
import { isTooDeep } from '../storage/objects.ts';
import type { Target } from './target.ts';
import { type ResourceDefinition, resourceNamed } from '../resources/resources.ts';
import type { Subresource, Verb, Verbs } from '../resources/subresources.ts';
import { isUnservedResource, isUnservedSubresource, notServed } from '../resources/unserved.ts';

/** The limit of a real server. */
const maxBodyBytes = 3 * 1024 * 1024;

/** The resource of a path, and the verb. */
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
  if (reviewAt(`/${parts.join('/')}`) !== undefined) throw methodNotAllowed();
  if (definition === undefined) {
    if (isUnservedResource(group, resource)) throw notServed(group === '' ? resource : `${resource}.${group}`);
    throw unknownPath();
  }
  if (isUnservedSubresource(resource, subresource)) throw notServed(`${resource}/${subresource}`);
  if (definition.isReadOnly && method !== 'GET') throw notServed(`writes of ${resource}`);
  if (more.length > 0) throw unknownPath();
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

const objectVerbs: Verbs = { GET: 'get', PUT: 'update', PATCH: 'patch', DELETE: 'delete' };

function collectionVerbs(definition: ResourceDefinition, namespace: string, isWatch: boolean): Verbs {
  const read = { GET: isWatch ? 'watch' : 'list' } as const;
  const isAcrossNamespaces = definition.namespaced && namespace === '';
  if (isAcrossNamespaces) return read;
  const write = { ...read, POST: 'create' } as const;
  return definition.deletesCollections === false ? write : { ...write, DELETE: 'deletecollection' };
}

function verbOf(verbs: Verbs, method: string): Verb {
  const verb = Object.hasOwn(verbs, method) ? verbs[method] : undefined;
  if (verb === undefined) throw methodNotAllowed();
  return verb;
}

/** The text of a body, and its parsed value. */
export interface ParsedBody {
  readonly text: string;
  readonly value: unknown;
}

/** @throws APIStatusError 413 for a body that is too long, 400 for one that is not JSON */
export async function readJSON(request: ServerRequest, refusal: string): Promise<ParsedBody> {
  const text = await readBody(request);
  return { text, value: requireJSON(text, refusal) };
}

/**
 * The complete body as text.
 * @throws APIStatusError 413
 */
export function readBody(request: ServerRequest): Promise<string> {
  if (Number(request.headers['content-length'] ?? 0) > maxBodyBytes) throw tooLarge();
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length <= maxBodyBytes) chunks.push(chunk);
      else reject(tooLarge());
    });
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString('utf8');
      request.bodyText = text;
      resolve(text);
    });
    request.on('error', reject);
  });
}

function tooLarge(): APIStatusError {
  return new APIStatusError(413, 'RequestEntityTooLarge', `Request entity too large: limit is ${maxBodyBytes}`);
}

/** @throws APIStatusError 400 */
export function requireJSON(text: string, refusal: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw badRequest(refusal);
  }
  if (isTooDeep(value)) throw badRequest(`${refusal}: exceeded max depth`);
  return value;
}
