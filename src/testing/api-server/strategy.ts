import type { StatusCause } from './api-status.ts';
import type { JSONObject, StoredObject } from './objects.ts';
import type { SubresourceName } from './subresources.ts';

export interface DeleteOptions {
  readonly gracePeriodSeconds?: number;
  readonly uid?: string;
  readonly resourceVersion?: string;
}

/** What is particular to one kind. Source: `rest.RESTCreateStrategy`, `rest.RESTUpdateStrategy`. */
export interface Strategy {
  /**
   * The members beside `metadata` as Go's structs would write them: canonical times and
   * quantities, defaults, no unknown members where a server notices them.
   * @throws DecodeError
   */
  decode(object: JSONObject): JSONObject;
  /** Clears what a client may not set and fills what it did not. `now` is a canonical time. */
  prepareForCreate(object: StoredObject, now: string): StoredObject;
  /** Puts back what this request may not change. */
  prepareForUpdate(next: StoredObject, old: StoredObject, subresource: SubresourceName | ''): StoredObject;
  validateCreate(object: StoredObject): StatusCause[];
  validateUpdate(next: StoredObject, old: StoredObject, subresource: SubresourceName | ''): StatusCause[];
  /** The grace period of a deletion; absent: the kind is deleted at once. */
  gracePeriodSeconds?(object: StoredObject, options: DeleteOptions): number;
  /** A PUT of an object that is not there creates it. */
  readonly createOnUpdate?: true;
  /** A PUT must name the resourceVersion. */
  readonly conditionalUpdateOnly?: true;
}
