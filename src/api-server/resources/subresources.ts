/** The request attributes of a method and a path. Source: `RequestInfoFactory`. */
export type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection';

/** The verb of each HTTP method that is allowed. */
export interface Verbs {
  readonly [method: string]: Verb;
}

/** The subresources that this server serves. */
export type SubresourceName = 'status' | 'binding' | 'eviction' | 'resize' | 'ephemeralcontainers' | 'token';

/** A part of an object with a path of its own. */
export interface Subresource {
  readonly name: SubresourceName;
  /** Of the body, where it is not the object itself. */
  readonly body?: { readonly group: string; readonly version: string; readonly kind: string };
  readonly verbs: Verbs;
}

const readAndUpdate: Verbs = { GET: 'get', PUT: 'update', PATCH: 'patch' };

export const statusSubresource: Subresource = { name: 'status', verbs: readAndUpdate };

export const tokenSubresource: Subresource = {
  name: 'token',
  body: { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' },
  verbs: { POST: 'create' },
};

export const podSubresources: readonly Subresource[] = [
  statusSubresource,
  { name: 'binding', body: { group: '', version: 'v1', kind: 'Binding' }, verbs: { POST: 'create' } },
  { name: 'eviction', body: { group: 'policy', version: 'v1', kind: 'Eviction' }, verbs: { POST: 'create' } },
  { name: 'resize', verbs: readAndUpdate },
  { name: 'ephemeralcontainers', verbs: readAndUpdate },
];
