import type { Fault } from './fault.ts';

/** The verbs of requests as Kubernetes names them. */
export const faultVerbs = [
  ...(['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'] as const),
];
/** The verb of a request that a fault can match. */
export type FaultVerb = (typeof faultVerbs)[number];

/** One request, as faults are matched against it and as they report it. */
export interface FaultRequest {
  /** `''` for an HTTP method without a verb. */
  readonly verb: FaultVerb | '';
  /** Plural: `pods`, `nodes`, `leases`; `''` for a path that names no resource, such as `/version`. */
  readonly resource: string;
  /** `status`, `binding`, …; `''` for the object itself. */
  readonly subresource: string;
  /** `''` for lists across namespaces, and for cluster-scoped resources. */
  readonly namespace: string;
  /** `''` for lists, watches and creations. */
  readonly name: string;
}

/** A request that `Faults.now` can reach: a watch, or one that has no response yet. */
export interface RunningRequest {
  readonly about: FaultRequest;
  /** @throws RangeError for a fault that cannot apply to a request in flight */
  apply(fault: Fault): void;
}

/** Which requests a fault is for; an omitted field matches every request. */
export type RequestMatch = Partial<Omit<FaultRequest, 'verb'>> & { readonly verb?: FaultVerb };

const fields = ['verb', 'resource', 'subresource', 'namespace', 'name'] as const;

export function fits(match: RequestMatch, request: FaultRequest): boolean {
  return fields.every((field) => match[field] === undefined || match[field] === request[field]);
}

/** The requests that a server or a client has. A match with any other value would never apply. */
export interface MatchValues {
  readonly verb: readonly string[];
  readonly resource: readonly string[];
  readonly subresource: readonly string[];
}

/** @throws RangeError for a field or a value that no request can have */
export function requireMatch(match: RequestMatch, values: MatchValues): void {
  for (const [field, value] of Object.entries(match) as [keyof FaultRequest, unknown][]) {
    if (!fields.includes(field)) throw new RangeError(`Expected a match by ${fields.join(', ')}, got \`${field}\``);
    if (value === undefined) continue;
    const got = `got ${JSON.stringify(value)}`;
    if (field === 'namespace' || field === 'name') {
      if (typeof value !== 'string' || value.includes('/'))
        throw new RangeError(`Expected \`${field}\` to be the name of an object without \`/\`, ${got}`);
    } else if (!values[field].includes(value as string)) {
      const expected = values[field].map((name) => (name === '' ? "''" : name)).join(', ');
      throw new RangeError(`Expected \`${field}\` to be one of ${expected}, ${got}`);
    }
  }
}

const verbsOfObjects: Readonly<Record<string, FaultVerb>> = {
  GET: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};
const verbsOfCollections: Readonly<Record<string, FaultVerb>> = {
  GET: 'list',
  POST: 'create',
  DELETE: 'deletecollection',
};

/** The request info of an HTTP request, from its method and URL. */
export function requestOf(method: string, url: string): FaultRequest {
  const { pathname, searchParams } = new URL(url, 'http://localhost');
  const [root, ...parts] = pathname.split('/').slice(1).map(decoded);
  const rest = root === 'api' ? parts.slice(1) : root === 'apis' ? parts.slice(2) : [];
  const isNamespaced = rest[0] === 'namespaces' && rest.length > 2 && !(rest.length === 3 && isOfNamespace(rest[2]!));
  const [namespace, [resource = '', name = '', subresource = '']] = isNamespaced
    ? [rest[1]!, rest.slice(2)]
    : ['', rest];
  const isWatch = method === 'GET' && ['true', '1'].includes(searchParams.get('watch') ?? '');
  const verb = isWatch ? 'watch' : (name === '' ? verbsOfCollections : verbsOfObjects)[method];
  return { verb: resource === '' ? '' : (verb ?? ''), resource, subresource, namespace, name };
}

/** Subresources of the Namespace itself, not resources in the namespace. */
function isOfNamespace(part: string): boolean {
  return part === 'status' || part === 'finalize';
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
