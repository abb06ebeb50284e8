import type { Verbs } from './request.ts';

/** The subresources that this server serves. */
export type SubresourceName = 'status' | 'binding';

/** A part of an object with a path of its own. */
export interface Subresource {
  readonly name: SubresourceName;
  /** Of the body, where it is not the kind of the object. */
  readonly kind?: string;
  readonly verbs: Verbs;
}

const readAndUpdate: Verbs = { GET: 'get', PUT: 'update', PATCH: 'patch' };

export const statusSubresource: Subresource = { name: 'status', verbs: readAndUpdate };

export const podSubresources: readonly Subresource[] = [
  statusSubresource,
  { name: 'binding', kind: 'Binding', verbs: { POST: 'create' } },
];
